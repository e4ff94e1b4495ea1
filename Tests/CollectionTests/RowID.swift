import UpdateMachine

/// The ID of a row in a list whose rows do not matter.
struct RowID: ListID {
  let number: Int64

  init(_ number: Int64) { self.number = Swift.min(Swift.max(number, .min + 1), .max - 1) }
}
