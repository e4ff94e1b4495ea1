internal import UpdateMachine

/// A push in flight: everything that the data layer reads from it.
struct SmallPush: Equatable {
  var knownRefusal: UInt64
  /// One bit per ID; the lowest bit stands for ID 1.
  var voided: UInt64
  /// Three bits per added number, number 1 in the lowest bits: the ID of its mutation, or 0 if it
  /// is not in the push.
  var ids: UInt64

  func voids(_ id: UInt64) -> Bool { voided >> (id - 1) & 1 == 1 }
  func id(of number: UInt64) -> UInt64 { ids >> (3 * (number - 1)) & 7 }

  /// The numbers added, one bit each.
  var numbers: UInt64 {
    var numbers: UInt64 = 0
    for number in 1...3 as ClosedRange<UInt64> where id(of: number) > 0 {
      numbers |= 1 << (number - 1)
    }
    return numbers
  }

  /// The greatest ID that the push mentions.
  var last: UInt64 {
    max(id(of: 1), id(of: 2), id(of: 3), UInt64(64 - voided.leadingZeroBitCount))
  }

  /// The same push with each mutation's ID raised or lowered by one.
  func shifted(up: Bool) -> SmallPush {
    var shifted = self
    for number in 1...3 as ClosedRange<UInt64> where id(of: number) > 0 {
      if up {
        shifted.ids += 1 << (3 * (number - 1))
      } else {
        shifted.ids -= 1 << (3 * (number - 1))
      }
    }
    return shifted
  }

  func pack(into bits: inout Bits) {
    bits.put(knownRefusal, width: 3)
    bits.put(voided, width: 7)
    bits.put(ids, width: 9)
  }

  /// The whole push as one number. Pushes are sorted by it.
  var code: UInt64 { knownRefusal << 16 | voided << 9 | ids }
}

extension SmallPush {
  /// Returns `nil` for a push that cannot occur in a small world.
  init?(_ push: PushRequest<SmallEdit>) {
    var (voided, ids, last): (UInt64, UInt64, UInt64) = (0, 0, 0)
    for id in push.voided { voided |= 1 << (id.number - 1) }
    for item in push.mutations {
      let place = 3 * (item.change.number - 1)
      guard item.id.number > last, ids >> place == 0 else { return nil }
      ids |= item.id.number << place
      last = item.id.number
    }
    self.init(knownRefusal: push.knownRefusal.number, voided: voided, ids: ids)
  }

  init(unpacking bits: inout Bits) {
    knownRefusal = bits.take(width: 3)
    voided = bits.take(width: 7)
    ids = bits.take(width: 9)
  }
}

extension SmallPush: CustomStringConvertible {
  var description: String {
    var text = "push"
    if knownRefusal > 0 { text += " knowing \(knownRefusal)" }
    for id in 1...SmallDataLayer.countMaximum where voids(id) { text += " without \(id)" }
    for number in 1...3 as ClosedRange<UInt64> where id(of: number) > 0 {
      text += " \(id(of: number)): add \(number)"
    }
    return text
  }
}
