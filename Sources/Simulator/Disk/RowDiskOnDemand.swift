public import UpdateMachine

/// Keeps values, which cost nothing, until a store of rows writes to it, as real drivers have one; from then
/// on the bytes that it writes.
public enum RowDiskOnDemand<Model: StorableModel, Place: Finger & Storable>: SimulatedDisk {
  public typealias Saved = SavedReplica<Model, Place>

  case values(ValueDisk<Model, Place>)
  case rows(RowDisk<Model, Place>)

  public init() { self = .values(ValueDisk()) }

  public var saved: Saved? {
    switch self {
    case .values(let disk): disk.saved
    case .rows(let disk): disk.saved
    }
  }

  public var isUnreadable: Bool {
    switch self {
    case .values(let disk): disk.isUnreadable
    case .rows(let disk): disk.isUnreadable
    }
  }

  public mutating func write(_ saved: Saved) {
    change {
      $0.write(saved)
    } _: {
      $0.write(saved)
    }
  }

  public mutating func perform(_ step: DiskStep, leadingTo saved: Saved) {
    if case .values = self { self = .rows(RowDisk()) }
    change {
      $0.perform(step, leadingTo: saved)
    } _: {
      $0.perform(step, leadingTo: saved)
    }
  }

  public mutating func tear(_ saved: Saved, _ choices: inout Choices) {
    change {
      $0.tear(saved, &choices)
    } _: {
      $0.tear(saved, &choices)
    }
  }

  public mutating func tear(_ step: DiskStep, _ choices: inout Choices) {
    if case .values = self { self = .rows(RowDisk()) }
    change {
      $0.tear(step, &choices)
    } _: {
      $0.tear(step, &choices)
    }
  }

  public mutating func damage(_ choices: inout Choices) {
    change {
      $0.damage(&choices)
    } _: {
      $0.damage(&choices)
    }
  }

  public mutating func setAside() {
    change {
      $0.setAside()
    } _: {
      $0.setAside()
    }
  }

  public mutating func erase() {
    change {
      $0.erase()
    } _: {
      $0.erase()
    }
  }

  public mutating func read() -> (saved: Saved?, objection: DiskObjection?) {
    var found: (saved: Saved?, objection: DiskObjection?) = (nil, nil)
    change {
      found = $0.read()
    } _: {
      found = $0.read()
    }
    return found
  }

  private mutating func change(
    _ values: (inout ValueDisk<Model, Place>) -> Void, _ rows: (inout RowDisk<Model, Place>) -> Void
  ) {
    switch self {
    case .values(var disk):
      values(&disk)
      self = .values(disk)
    case .rows(var disk):
      self = .values(ValueDisk())  // So that the rows are changed in place.
      rows(&disk)
      self = .rows(disk)
    }
  }
}
