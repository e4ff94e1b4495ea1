// A replica in few bits, for whoever visits millions of them: its machine, and whether it holds a
// model. The model itself is packed by whoever knows what it is.

extension Replica {
  /// Whether it will start as soon as the saved form was read.
  @inlinable
  public var isStartPending: Bool { startsWhenLoaded }

  /// Puts all of it but model and finger into `bits`, as seen from `now`.
  @inlinable
  public func pack(into bits: inout Bits, at now: Moment, _ packing: Machine<Place>.Packing) {
    bits.put(isLoaded)
    bits.put(startsWhenLoaded)
    _machine.pack(into: &bits, at: now, packing)
  }

  /// The replica that was packed, as seen from the moment 0.
  @inlinable
  public init(
    unpacking bits: inout Bits, model: Model?, finger: Place?, life: Life,
    _ packing: Machine<Place>.Packing
  ) {
    let isLoaded = bits.takeFlag()
    let startsWhenLoaded = bits.takeFlag()
    _machine = Machine(unpacking: &bits, finger: finger, life: life, packing)
    self.startsWhenLoaded = startsWhenLoaded
    _holding = isLoaded ? model.map { .model($0) } ?? .nothing : .unknown
  }
}
