package import MessageSync
package import UpdateMachine

/// The answer to `GET /messages`: some messages of a narrow.
package struct ZulipPage: Hashable, Sendable {
  /// In ascending order of IDs, if the server keeps its promise; the store refuses other orders.
  package var messages: [ZulipMessage]
  /// The ID that the page is about. If the request named the anchor by a word, this is the server's
  /// number for it, which need not be near any message.
  package var anchor: Int64
  package var foundAnchor: Bool
  package var foundOldest: Bool
  package var foundNewest: Bool
  package var isHistoryLimited: Bool
}

extension ZulipPage: Decodable {
  /// Throws errors that `ZulipError.init(_:)` turns into a path.
  package init(from decoder: any Decoder) throws { try self.init(ZulipReading(decoder)) }

  init(_ answer: ZulipReading) throws(ZulipError) {
    messages = []
    for message in try answer.objects("messages") {
      messages.append(try ZulipMessage(message, flags: message.texts("flags")))
    }
    anchor = try answer.number("anchor")
    foundAnchor = try answer.bool("found_anchor")
    foundOldest = try answer.bool("found_oldest")
    foundNewest = try answer.bool("found_newest")
    isHistoryLimited = try answer.bool("history_limited")
  }
}

extension ZulipPage {
  /// The server's number for an anchor that is newer than all messages.
  private static var anchorBeyond: Int64 { 10_000_000_000_000_000 }

  /// Returns the page for the library, which must know the request: only an anchor that was to be
  /// included is known to be on the page or nowhere (PartialKnowledge R5). Returns `nil` if the
  /// anchor was excluded between messages on both sides: the page has a hole then, which no page of
  /// ours has.
  package func page(for request: ZulipPageRequest) -> MessagePage<ZulipContent>? {
    var about: MessageID?
    var isHistoryLimited = isHistoryLimited
    switch request.anchor {
    case .newest, .oldest: break
    // Without an unread message, the server's anchor is a number beyond all IDs.
    case .serverChosen:
      if foundAnchor {
        about = MessageID(anchor)
      } else if anchor < messages.first?.message.id.number ?? ZulipPage.anchorBeyond {
        // The first unread message is older than all that the server shows, so it is hidden. The
        // server itself says so only if it hides even older ones.
        isHistoryLimited = true
      }
    case .id(let id): about = id
    }
    if !request.includesAnchor, let id = about {
      // Next to the anchor the page is complete. A server may send any number.
      switch (request.before > 0, request.after > 0) {
      case (true, true): return nil
      case (true, false): about = MessageID(max(id.number, .min + 1) - 1)
      case (false, true): about = MessageID(min(id.number, .max - 1) + 1)
      case (false, false): about = nil
      }
    }
    // For some of a channel's history the server keeps nothing of the user's.
    let shown = messages.map { message in
      request.narrow.isOfFeed ? message.message : message.messageOfChannel
    }
    return MessagePage(
      messages: shown, anchor: about, foundOldest: foundOldest,
      foundNewest: foundNewest, isHistoryLimited: isHistoryLimited)
  }
}

/// The parameters of `GET /messages`.
package struct ZulipPageRequest: Hashable, Sendable {
  package var narrow: ZulipNarrow
  package var anchor: PageAnchor<MessageID>
  package var before: Int64
  package var after: Int64
  package var includesAnchor: Bool
  /// The form of the contents.
  package var form: ZulipContent.Form

  package init(
    _ narrow: ZulipNarrow, _ anchor: PageAnchor<MessageID>, before: Int64, after: Int64,
    includesAnchor: Bool = true, form: ZulipContent.Form = .rendered
  ) {
    self.narrow = narrow
    self.anchor = anchor
    self.before = before
    self.after = after
    self.includesAnchor = includesAnchor
    self.form = form
  }
}

extension ZulipPageRequest: Decodable {
  private enum Field: String, CodingKey {
    case narrow, anchor
    case before = "num_before"
    case after = "num_after"
    case includesAnchor = "include_anchor"
    case isRendered = "apply_markdown"
  }

  /// Decodes the parameters before form encoding. Missing ones get the server's defaults.
  package init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Field.self)
    narrow = try fields.decodeIfPresent(ZulipNarrow.self, forKey: .narrow) ?? ZulipNarrow([])
    before = try fields.numberIfPresent(.before) ?? 0
    after = try fields.numberIfPresent(.after) ?? 0
    includesAnchor = try fields.decodeIfPresent(Bool.self, forKey: .includesAnchor) ?? true
    form = try fields.decodeIfPresent(Bool.self, forKey: .isRendered) ?? true ? .rendered : .raw
    if let number = try? fields.number(.anchor) {
      anchor = .id(MessageID(number))
      return
    }
    switch try fields.decode(String.self, forKey: .anchor) {
    case "newest": anchor = .newest
    case "oldest": anchor = .oldest
    case "first_unread": anchor = .firstUnread
    case let text:
      guard let number = Int64(text) else {
        throw DecodingError.dataCorruptedError(
          forKey: .anchor, in: fields, debugDescription: "neither an ID nor a word")
      }
      anchor = .id(MessageID(number))
    }
  }
}
