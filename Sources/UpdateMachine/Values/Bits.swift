/// Small numbers packed into 128 bits, and taken out in the order in which they were put in. Hosts
/// that keep millions of states pack each into one of these.
@usableFromInline
package struct Bits: BitwiseCopyable, Hashable, Sendable {
  // Two halves: shifting 128 bits by a variable needs a function that Embedded Swift lacks.
  @usableFromInline var low: UInt64
  @usableFromInline var high: UInt64
  @usableFromInline var place: UInt8 = 0

  /// Starts empty, or with earlier contents to be taken out.
  @inlinable
  package init(word: UInt128 = 0) {
    low = UInt64(truncatingIfNeeded: word)
    high = UInt64(truncatingIfNeeded: word >> 64)
  }

  /// All bits; those that were put in first are the lowest.
  @inlinable
  package var word: UInt128 { UInt128(high) << 64 | UInt128(low) }

  /// How many bits were put in, or taken out.
  @inlinable
  package var count: Int { Int(place) }

  /// Puts in a number below 2^`width`. A larger number traps, and so do more than 128 bits in all.
  @inlinable
  package mutating func put(_ number: UInt64, width: UInt8) {
    precondition(number >> UInt64(width) == 0, "a number does not fit its bits")
    precondition(place + width <= 128, "more than 128 bits")
    // A shift by more than 63 gives 0, and a negative one shifts the other way: both are wanted.
    low |= number << UInt64(place)
    high |= number << (Int(place) - 64)
    place += width
  }

  /// Puts in one bit.
  @inlinable
  package mutating func put(_ flag: Bool) { put(flag ? 1 : 0, width: 1) }

  /// Puts in a moment as seen from `now`, or `nil`. A moment more than `past` ago counts as `past`
  /// ago. One that is too far ahead for its bits traps.
  @inlinable
  package mutating func put(_ moment: Moment?, at now: Moment, past: TimeSpan, width: UInt8) {
    guard let moment else { return put(0, width: width) }
    let ago = max((moment - now).milliseconds, -past.milliseconds)
    put(UInt64(ago + past.milliseconds) + 1, width: width)
  }

  /// Takes out the next number of `width` bits.
  @inlinable
  package mutating func take(width: UInt8) -> UInt64 {
    let number = low >> UInt64(place) | high >> (Int(place) - 64)
    place += width
    return number & (1 << UInt64(width) - 1)
  }

  /// Takes out one bit.
  @inlinable
  package mutating func takeFlag() -> Bool { take(width: 1) == 1 }

  /// Takes out a moment, as seen from the moment 0.
  @inlinable
  package mutating func takeMoment(past: TimeSpan, width: UInt8) -> Moment? {
    let number = take(width: width)
    return number == 0 ? nil : Moment(milliseconds: Int64(number) - 1 - past.milliseconds)
  }
}
