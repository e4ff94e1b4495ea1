public import UpdateMachine

// A confirmed view as rows: one for each key, and one for the head. The finger's checksum verifies
// that the rows are those that were written.

extension StoredTable {
  /// One row for each key.
  @usableFromInline static var view: StoredTable { .firstOfModel }
  /// One row: the finger and the last refusal.
  @usableFromInline static var viewHead: StoredTable { .firstOfModel.advanced(by: 1) }
}

extension ViewFinger: Storable {
  @inlinable
  public func put(into bytes: inout ByteWriter) {
    bytes.put(client.number)
    bytes.put(state.epoch)
    bytes.put(state.number)
    bytes.put(checksum)
    bytes.put(lastMutation)
    bytes.put(lastRefusal)
    bytes.put(commit?.number)
  }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    let client = ClientID(try bytes.takeUInt64())
    let state = ServerStateID(epoch: try bytes.takeUInt64(), number: try bytes.takeUInt64())
    self.init(
      client: client, state: state, checksum: try bytes.takeUInt64(),
      lastMutation: try bytes.take(), lastRefusal: try bytes.take(),
      commit: try bytes.takeOptional(UInt64.self).map { CommitNumber($0) })
  }
}

extension ViewKey: StorableKey {
  @inlinable
  public func put(into bytes: inout ByteWriter) { bytes.put(text) }

  @inlinable
  public init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init(try bytes.takeString())
  }

  /// The key's UTF-8, which is also its order.
  @inlinable
  public var keyBytes: [UInt8] { Array(text.utf8) }

  @inlinable
  public init(keyBytes: [UInt8]) throws(StoredFormError) {
    guard let text = String(validating: keyBytes, as: UTF8.self) else {
      throw StoredFormError(expected: "a key in UTF-8")
    }
    self.init(text)
  }
}

/// The finger of a confirmed view, and the last refusal.
@usableFromInline
struct StoredViewHead: Storable, Equatable {
  @usableFromInline var finger: ViewFinger
  @usableFromInline var refusal: MutationRefusal?

  @usableFromInline
  init(finger: ViewFinger, refusal: MutationRefusal?) {
    self.finger = finger
    self.refusal = refusal
  }

  @usableFromInline
  func put(into bytes: inout ByteWriter) {
    bytes.put(finger)
    bytes.put(refusal)
  }

  @usableFromInline
  init(from bytes: inout ByteReader) throws(StoredFormError) {
    finger = try bytes.take()
    refusal = try bytes.takeOptional()
  }
}

extension ClientViewModel: StorableModel where Value: Storable {
  @inlinable
  package func store(since old: ClientViewModel?, into rows: inout RowWriter) {
    rows.put(.view, view.map, since: old?.view.map)
    rows.put(
      .viewHead, StoredViewHead(finger: finger, refusal: refusal),
      since: old.map { StoredViewHead(finger: $0.finger, refusal: $0.refusal) })
  }

  @inlinable
  package init(stored rows: RowReader) throws(StoredFormError) {
    let found: StoredViewHead? = try rows.value(of: .viewHead)
    guard let head = found else { throw StoredFormError(expected: "the head of a view") }
    _view = ViewMap(try rows.map(of: .view))
    _finger = head.finger
    _refusal = head.refusal
    do throws(ClientViewRefusal) {
      try check()
    } catch {
      throw StoredFormError(expected: "the view that its checksum is of")
    }
  }
}

extension ConfirmedView: StorableModel where Change: Storable, Change.Content: Storable {
  public func store(since old: ConfirmedView?, into rows: inout RowWriter) {
    model.store(since: old?.model, into: &rows)
  }

  public init(stored rows: RowReader) throws(StoredFormError) {
    model = try ClientViewModel(stored: rows)
  }
}
