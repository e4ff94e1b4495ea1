internal import UpdateMachine

/// SplitMix64: the same numbers from the same seed, in every run and on every machine.
public struct SplitMix: RandomNumberGenerator, Sendable {
  public var state: UInt64

  public init(_ seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return StateDigest.mixed(state)
  }

  /// A number from 0 to `count` − 1.
  public mutating func below(_ count: Int) -> Int {
    Int(next().multipliedFullWidth(by: UInt64(count)).high)
  }

  /// A number from 0 to `sides` − 1.
  public mutating func roll(_ sides: Int64) -> Int64 { Int64(below(Int(sides))) }

  public mutating func flip() -> Bool { below(2) == 0 }

  public mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }
}
