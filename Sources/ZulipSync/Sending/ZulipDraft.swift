internal import MessageSync
internal import UpdateMachine

/// A message that its user has begun and not sent. The server keeps it for all of the user's
/// devices.
///
///     let first = ZulipDraft(.channel(general, topic: "lunch"), "At no", at: now)
///     _ = try await machine.mutate(.draft(nil, becomes: first))
///
/// A change names a draft by what it was (``ZulipChange/draft(_:becomes:)``). So an app can change
/// a draft of which the server knows nothing yet, and need not learn its ID.
public struct ZulipDraft: Hashable, Identifiable, Sendable {
  /// The place of a draft in a state.
  public struct ID: Hashable, Sendable {
    /// The server's; below 0, the library's own; 0: in no state.
    package let number: Int64
  }

  /// Tells the drafts of one state apart. It changes when the server gives the draft an ID. All
  /// drafts that are in no state have the same.
  public internal(set) var id = ID(number: 0)
  /// Where the message is to go; `nil`: its user has not said.
  public var recipient: ZulipConnection.Recipient?
  /// The text as typed, in Markdown. The server keeps no empty one, and no whitespace at the end.
  public var content: String
  /// When its user last edited it, in seconds since 1970. An app sets it.
  public var editedAt: Int64

  /// Creates a draft that is in no state. It is checked when it is applied.
  public init(_ recipient: ZulipConnection.Recipient?, _ content: String, at editedAt: Int64) {
    self.recipient = recipient
    self.content = content
    self.editedAt = editedAt
  }
}

extension ZulipState {
  private static var drafts: String { "drafts" }

  /// The user's drafts, the one that was edited last first.
  public var drafts: [ZulipDraft] {
    objects(of: ZulipState.drafts)
      .compactMap { key, value in value.fields.map { ZulipDraft($0, key.number, in: self) } }
      .sorted {
        ($0.editedAt, $0.id.number.magnitude) > ($1.editedAt, $1.id.number.magnitude)
      }
  }

  /// Whether the server has told of drafts.
  var holdsDrafts: Bool { holds(ZulipState.drafts) }

  /// Returns the draft of this ID. If the server has given it none, returns the newest that says
  /// the same. O(drafts) then.
  func draft(_ named: ZulipDraft) -> ZulipDraft? {
    if named.id.number != 0, let fields = object(ZulipKey(ZulipState.drafts, named.id.number)) {
      return ZulipDraft(fields, named.id.number, in: self)
    }
    guard named.id.number <= 0 else { return nil }
    var found: ZulipDraft?
    for (key, value) in objects(of: ZulipState.drafts) {
      guard let fields = value.fields, fields["timestamp"]?.number ?? 0 == named.editedAt else {
        continue
      }
      let draft = ZulipDraft(fields, key.number, in: self)
      let isNewer = found.map { draft.id.number.magnitude > $0.id.number.magnitude } ?? true
      if isNewer, draft.isSame(as: named) { found = draft }
    }
    return found
  }

  func holdsDraft(_ id: Int64) -> Bool { rows.contains(ZulipKey(ZulipState.drafts, id)) }

  /// Puts a draft in the place of another one, or of none.
  mutating func replace(_ former: ZulipDraft?, by draft: ZulipDraft?) {
    if let former { rows[ZulipKey(ZulipState.drafts, former.id.number)] = nil }
    guard let draft else { return }
    var fields = draft.fields
    fields["id"] = .number(draft.id.number)
    rows[ZulipKey(ZulipState.drafts, draft.id.number)] = .fields(fields)
  }
}

extension ZulipDraft {
  /// Reads a draft as the server writes it. What cannot be read is not there.
  init(_ fields: ZulipFields, _ id: Int64, in state: ZulipState?) {
    self.init(
      ZulipDraft.recipient(in: fields), fields["content"]?.text ?? "",
      at: fields["timestamp"]?.number ?? 0)
    self.id = ID(number: id)
    addressOthers(than: state?.myself)
  }

  private static func recipient(in fields: ZulipFields) -> ZulipConnection.Recipient? {
    let to = fields["to"]?.numbers ?? []
    switch fields["type"]?.text {
    case "stream":
      return to.first.map { .channel(ChannelID($0), topic: fields["topic"]?.text ?? "") }
    case "private": return .direct(to.map { UserID($0) })
    default: return nil
    }
  }

  /// The draft as the server reads it.
  var fields: ZulipFields {
    var fields: ZulipFields = [
      "type": "", "to": .list([]), "topic": "", "content": .text(content),
      "timestamp": .number(editedAt),
    ]
    switch recipient {
    case .channel(let channel, let topic):
      fields["type"] = "stream"
      fields["to"] = .list([.number(channel.number)])
      fields["topic"] = .text(topic)
    case .direct(let users):
      fields["type"] = "private"
      fields["to"] = .list(users.map { .number($0.number) })
    case nil: break
    }
    return fields
  }

  /// Names a conversation as the server does for drafts: without its user, except for a note to
  /// oneself.
  mutating func addressOthers(than user: UserID?) {
    guard case .direct(let users) = recipient else { return }
    let others = Set(users).subtracting([user].compactMap { $0 }).sorted()
    recipient = .direct(others.isEmpty ? [user].compactMap { $0 } : others)
  }

  /// Whether the two say the same, whatever their IDs. The server drops whitespace around a text.
  func isSame(as other: ZulipDraft) -> Bool {
    guard editedAt == other.editedAt, content.trimmed == other.content.trimmed else { return false }
    switch (recipient, other.recipient) {
    case (.channel(let channel, let topic), .channel(let otherChannel, let otherTopic)):
      return channel == otherChannel && topic.trimmed == otherTopic.trimmed
    case (.direct(let users), .direct(let others)):
      // Of a note to oneself some servers name nobody.
      return Set(users) == Set(others) || users.isEmpty || others.isEmpty
    case (nil, nil): return true
    case (.channel, _), (.direct, _), (nil, _): return false
    }
  }

  /// The size in bytes, about.
  var size: Int64 { ZulipOutgoing(recipient ?? .direct([]), content).size }

  /// Checks whether the server would keep it.
  func check(in state: ZulipState) throws(ZulipOutgoing.Refusal) {
    if state.setting("enable_drafts_synchronization")?.bool == false { throw .draftsOff }
    do throws(ZulipOutgoing.Refusal) {
      try ZulipOutgoing(recipient ?? .direct([]), content).check(in: state)
    } catch {
      if error != .noRecipients { throw error }  // Its user has not said yet.
    }
  }
}

extension String {
  fileprivate var trimmed: Substring {
    var rest = self[...].trimmingPrefix(while: \.isWhitespace)
    while rest.last?.isWhitespace == true { rest.removeLast() }
    return rest
  }
}

extension ZulipDraft: CustomStringConvertible, CustomReflectable {
  /// The size only, no content.
  public var description: String { "a draft of \(content.utf8.count) bytes" }
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

// MARK: Rows

extension ZulipDraft {
  func put(into bytes: inout ByteWriter) {
    bytes.put(id.number)
    bytes.put(recipient != nil)
    ZulipOutgoing(recipient ?? .direct([]), content).put(into: &bytes)
    bytes.put(editedAt)
  }

  init(from bytes: inout ByteReader) throws(StoredFormError) {
    let id = try bytes.takeInt64()
    let isAddressed = try bytes.takeBool()
    let message = try ZulipOutgoing(kind: try bytes.takeByte(), from: &bytes)
    self.init(isAddressed ? message.recipient : nil, message.content, at: try bytes.takeInt64())
    self.id = ID(number: id)
  }
}
