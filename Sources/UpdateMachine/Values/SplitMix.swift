/// The generator SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014): the same numbers from the same seed, in every process, on every platform.
///
/// For simulations, benchmarks and tests. The library itself draws nothing from it.
@usableFromInline
package struct SplitMix: RandomNumberGenerator, Sendable {
  @usableFromInline package var state: UInt64

  @inlinable
  package init(_ seed: UInt64) { state = seed }

  @inlinable
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return StateDigest.mixed(state)
  }

  /// A number from 0 to `bound` − 1, of exactly one word: the high word of a product (Lemire, "Fast
  /// random integer generation in an interval", 2019) without its rejection step. The bias is below
  /// 2⁻³² for bounds below 2³².
  @inlinable
  package mutating func below<Bound: FixedWidthInteger>(_ bound: Bound) -> Bound {
    Bound(next().multipliedFullWidth(by: UInt64(bound)).high)
  }
}
