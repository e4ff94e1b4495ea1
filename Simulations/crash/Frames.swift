import Foundation
import SyncProtocols
import UpdateMachine

/// What a child is doing, as far as it has reported.
enum Phase: UInt8, CaseIterable, Sendable {
  case starting, opening, loading, checkpointing, appending, pulling, pushing, between
}

/// What a child reports.
enum Report: Sendable {
  case phase(Phase)
  /// The child's saved state, as it found it on its disk; `nil`: there was none.
  case restored(Restored?)
  /// The child is about to make this mutation.
  case makes(Int64)
  /// This mutation is durable.
  case stored(Int64)
  /// This much of the server's state is durable.
  case durable(CommitNumber)
  case pull(UInt64, ServerStateID?, ClientID)
  case push(UInt64, MutationPush)
  /// Nothing is pending, and the child has this state.
  case level(CommitNumber, checksum: UInt64)

  struct Restored: Sendable {
    var commit: CommitNumber
    var checksum: UInt64
    /// The numbers that are pending or set aside.
    var pending: [Int64]
  }
}

extension Report {
  var isRestored: Bool { if case .restored = self { true } else { false } }
}

/// What the parent tells a child.
enum Order: Sendable {
  /// Add numbers from this one on; with `finishes`, add none and become up to date.
  case start(from: Int64, client: ClientID, finishes: Bool)
  case pulled(UInt64, PulledView<JSONValue>)
  case pushed(UInt64, PushAnswer)
}

extension Report: Storable {
  func put(into bytes: inout ByteWriter) {
    switch self {
    case .phase(let phase):
      bytes.put(UInt8(0))
      bytes.put(phase.rawValue)
    case .restored(let restored):
      bytes.put(UInt8(1))
      bytes.put(restored != nil)
      guard let restored else { return }
      bytes.put(restored.commit.number)
      bytes.put(restored.checksum)
      bytes.put(restored.pending)
    case .makes(let number):
      bytes.put(UInt8(2))
      bytes.put(number)
    case .stored(let number):
      bytes.put(UInt8(3))
      bytes.put(number)
    case .durable(let commit):
      bytes.put(UInt8(4))
      bytes.put(commit.number)
    case .pull(let request, let state, let client):
      bytes.put(UInt8(5))
      bytes.put(request)
      bytes.put(state.map { [$0.epoch, $0.number] } ?? [])
      bytes.put(client.number)
    case .push(let request, let push):
      bytes.put(UInt8(6))
      bytes.put(request)
      bytes.put(push.client.number)
      bytes.put(push.knownRefusal)
      bytes.put(push.voided)
      bytes.put(UInt64(push.mutations.count))
      for mutation in push.mutations {
        bytes.put(mutation.id)
        bytes.put(mutation.name)
        bytes.put(mutation.arguments)
      }
    case .level(let commit, let checksum):
      bytes.put(UInt8(7))
      bytes.put(commit.number)
      bytes.put(checksum)
    }
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    switch try bytes.takeByte() {
    case 0:
      guard let phase = Phase(rawValue: try bytes.takeByte()) else {
        throw StoredFormError(expected: "a phase")
      }
      self = .phase(phase)
    case 1:
      guard try bytes.takeBool() else {
        self = .restored(nil)
        return
      }
      self = .restored(
        Restored(
          commit: CommitNumber(try bytes.takeUInt64()), checksum: try bytes.takeUInt64(),
          pending: try bytes.takeArray()))
    case 2: self = .makes(try bytes.takeInt64())
    case 3: self = .stored(try bytes.takeInt64())
    case 4: self = .durable(CommitNumber(try bytes.takeUInt64()))
    case 5:
      let request = try bytes.takeUInt64()
      let state: [UInt64] = try bytes.takeArray()
      let client = ClientID(try bytes.takeUInt64())
      let id = state.count == 2 ? ServerStateID(epoch: state[0], number: state[1]) : nil
      self = .pull(request, id, client)
    case 6:
      let request = try bytes.takeUInt64()
      var push = MutationPush(
        client: ClientID(try bytes.takeUInt64()), knownRefusal: try bytes.take(),
        voided: try bytes.takeArray(), mutations: [])
      for _ in 0..<(try bytes.takeCount()) {
        push.mutations.append(
          NamedMutation(
            id: try bytes.take(), name: try bytes.takeString(), arguments: try bytes.take()))
      }
      self = .push(request, push)
    case 7:
      self = .level(CommitNumber(try bytes.takeUInt64()), checksum: try bytes.takeUInt64())
    default: throw StoredFormError(expected: "a report")
    }
  }
}

extension Order: Storable {
  func put(into bytes: inout ByteWriter) {
    switch self {
    case .start(let first, let client, let finishes):
      bytes.put(UInt8(0))
      bytes.put(first)
      bytes.put(client.number)
      bytes.put(finishes)
    case .pulled(let request, let pulled):
      bytes.put(UInt8(1))
      bytes.put(request)
      bytes.put(pulled.finger)
      bytes.put(pulled.refusal)
      switch pulled.content {
      case .full(let view):
        bytes.put(true)
        bytes.put(UInt64(view.count))
        for (key, value) in view {
          bytes.put(key)
          bytes.put(value)
        }
      case .delta(let base, let changes):
        bytes.put(false)
        bytes.put([base.epoch, base.number])
        bytes.put(UInt64(changes.count))
        for change in changes {
          bytes.put(change.key)
          bytes.put(change.value)
        }
      }
    case .pushed(let request, let answer):
      bytes.put(UInt8(2))
      bytes.put(request)
      switch answer {
      case .accepted: bytes.put(UInt8(0))
      case .refused(let refusal):
        bytes.put(UInt8(1))
        bytes.put(refusal)
      case .acceptedOnly(let ids):
        bytes.put(UInt8(2))
        bytes.put(ids)
      case .behind: bytes.put(UInt8(3))
      case .tooLarge: bytes.put(UInt8(4))
      case .created(let id):
        bytes.put(UInt8(5))
        bytes.put(id)
      case .absent: bytes.put(UInt8(6))
      }
    }
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    switch try bytes.takeByte() {
    case 0:
      self = .start(
        from: try bytes.takeInt64(), client: ClientID(try bytes.takeUInt64()),
        finishes: try bytes.takeBool())
    case 1:
      let request = try bytes.takeUInt64()
      let finger: ViewFinger = try bytes.take()
      let refusal: MutationRefusal? = try bytes.takeOptional()
      self = .pulled(
        request,
        PulledView(
          client: finger.client, state: finger.state, checksum: finger.checksum,
          lastMutation: finger.lastMutation, refusal: refusal, commit: finger.commit,
          content: try Order.content(from: &bytes)))
    case 2:
      let request = try bytes.takeUInt64()
      self = .pushed(request, try Order.answer(from: &bytes))
    default: throw StoredFormError(expected: "an order")
    }
  }

  private static func answer(from bytes: inout ByteReader) throws(StoredFormError) -> PushAnswer {
    switch try bytes.takeByte() {
    case 0: .accepted
    case 1: .refused(try bytes.take())
    case 2: .acceptedOnly(try bytes.takeArray())
    case 3: .behind
    case 4: .tooLarge
    case 5: .created(try bytes.takeInt64())
    case 6: .absent
    default: throw StoredFormError(expected: "an answer to a push")
    }
  }

  private static func content(
    from bytes: inout ByteReader
  ) throws(StoredFormError) -> ViewContent<JSONValue> {
    guard try bytes.takeBool() else {
      let base: [UInt64] = try bytes.takeArray()
      guard base.count == 2 else { throw StoredFormError(expected: "a state") }
      var changes: [ViewChange<JSONValue>] = []
      for _ in 0..<(try bytes.takeCount()) {
        changes.append(ViewChange(key: try bytes.take(), value: try bytes.takeOptional()))
      }
      return .delta(from: ServerStateID(epoch: base[0], number: base[1]), changes)
    }
    var entries: [VersionedMap<ViewKey, JSONValue>.Element] = []
    for _ in 0..<(try bytes.takeCount()) {
      entries.append((key: try bytes.take(), value: try bytes.take()))
    }
    return .full(VersionedMap(sorted: entries))
  }
}

/// Whole values over one direction of a pair of pipes, each preceded by its length.
enum Pipeline {
  /// Throws when the reader is gone.
  static func send(_ value: some Storable, over handle: FileHandle) throws {
    let bytes = value.storedBytes
    let length = UInt32(bytes.count)
    var frame = Data(capacity: bytes.count + 4)
    for shift in [0, 8, 16, 24] as [UInt32] {
      frame.append(UInt8(truncatingIfNeeded: length >> shift))
    }
    frame.append(contentsOf: bytes)
    try handle.write(contentsOf: frame)
  }

  /// Waits for the next value; `nil`: the pipe has ended, perhaps in the middle of a value.
  static func receive<Value: Storable>(
    _ type: Value.Type, over handle: FileHandle
  ) throws -> Value? {
    guard let head = try read(4, from: handle) else { return nil }
    var length = 0
    for byte in head.reversed() { length = length << 8 | Int(byte) }
    guard let bytes = try read(length, from: handle) else { return nil }
    return try Value(storedBytes: Array(bytes))
  }

  private static func read(_ count: Int, from handle: FileHandle) throws -> Data? {
    var data = Data()
    while data.count < count {
      guard let more = try handle.read(upToCount: count - data.count), !more.isEmpty else {
        return nil
      }
      data.append(more)
    }
    return data
  }
}
