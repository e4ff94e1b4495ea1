import UpdateMachine

/// The ID of a row of a list in which it does not matter what the rows are.
struct RowID: ListID {
  let number: Int64

  init(_ number: Int64) { self.number = Swift.min(Swift.max(number, .min + 1), .max - 1) }
}
