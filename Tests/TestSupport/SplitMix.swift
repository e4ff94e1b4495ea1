package import UpdateMachine

extension SplitMix {
  /// A number from 0 to `sides` − 1.
  package mutating func roll(_ sides: Int64) -> Int64 { below(sides) }

  package mutating func flip() -> Bool { below(2) == 0 }

  package mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }
}
