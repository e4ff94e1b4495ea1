package import SyncProtocols

// Pages of messages, and single ones: the answers to `GET /messages` and `GET /messages/ID`.

extension Realm {
  /// Chooses the messages of a page, and reads them a little `later`, as the real server does. What
  /// the user may no longer see by then is left out.
  package func page(
    _ request: APIRequest, for user: Int64, later: Realm
  ) throws(APIError) -> JSONObject {
    let isRendered = try request.bool("apply_markdown") ?? true
    let page = try messages(of: request, for: user)
    let rows = page.messages.compactMap { later.message($0.id) }
      .filter { later.isVisible($0, to: user) }
    return [
      "messages": .array(rows.map { later.json($0, for: user, isRendered: isRendered) }),
      "anchor": .integer(page.anchor), "found_anchor": .bool(page.foundAnchor),
      "found_oldest": .bool(page.foundOldest), "found_newest": .bool(page.foundNewest),
      "history_limited": .bool(page.foundOldest && isHistoryLimited),
    ]
  }

  /// The messages around an anchor, and which ends of the list they reach.
  struct Found {
    var messages: [RealmMessage]
    var anchor: Int64
    var foundAnchor: Bool
    var foundOldest: Bool
    var foundNewest: Bool
  }

  /// Chooses the messages that a request is about.
  func messages(of request: APIRequest, for user: Int64) throws(APIError) -> Found {
    let before = try request.count("num_before")
    let after = try request.count("num_after")
    guard before <= APIServer.pageLimit, after <= APIServer.pageLimit,
      before + after <= APIServer.pageLimit
    else {
      throw APIError("Too many messages requested (maximum \(APIServer.pageLimit)).")
    }
    let includesAnchor = try request.bool("include_anchor") ?? true
    if !includesAnchor, before > 0, after > 0 {
      throw APIError("The anchor can only be excluded at an end of the range")
    }
    let narrow = try Narrow(request.json("narrow"), for: user, in: self)
    let shown = messages.filter { message in
      let isThere = narrow.isOfChannel || message.flags(of: user) != nil
      return isThere && isVisible(message, to: user) && narrow.contains(message, for: user)
    }
    let anchor = try anchor(request, shown, user)
    let (isAtStart, isAtEnd) = (anchor <= 0, anchor >= APIServer.anchorBeyond)
    let older = shown.filter { $0.id < anchor }.suffix(isAtStart ? 0 : Int(before))
    let own = includesAnchor ? shown.filter { $0.id == anchor } : []
    let newer = shown.filter { $0.id > anchor }.prefix(isAtEnd ? 0 : Int(after))
    return Found(
      messages: older + own + newer, anchor: anchor, foundAnchor: !own.isEmpty,
      foundOldest: isAtStart || older.count < before,
      foundNewest: isAtEnd || newer.count < after)
  }

  /// The answer to `GET /messages/ID`: a message that the user can see, wherever it is.
  package func single(
    _ id: Int64, for user: Int64, isRendered: Bool
  ) throws(APIError) -> JSONObject {
    let message = try message(id, for: user)
    return [
      "message": json(message, for: user, isRendered: isRendered),
      "raw_content": .string(message.text),
    ]
  }

  private func anchor(
    _ request: APIRequest, _ shown: [RealmMessage], _ user: Int64
  ) throws(APIError) -> Int64 {
    var word = request.text("anchor")
    if try request.bool("use_first_unread_anchor") == true { word = "first_unread" }
    switch word {
    case nil: throw APIError("Missing 'anchor' argument.")
    case "newest": return APIServer.anchorBeyond
    case "oldest": return 0
    case "first_unread":
      let first = shown.first { $0.flags(of: user).map { !$0.contains(.read) } ?? false }
      return first?.id ?? APIServer.anchorBeyond
    case let text?:
      guard let id = Int64(text) else { throw APIError("Invalid anchor") }
      return min(max(id, 0), APIServer.anchorBeyond)
    }
  }
}
