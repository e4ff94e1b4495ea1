/// Which user each client of a recording is. A client is named "USER/PROGRAM" or "PROGRAM/USER",
/// so its name alone does not tell. The answers to its registers do.
struct RecordedUsers {
  /// The users that clients have registered as.
  private var users: [String: Int64] = [:]
  /// The same by the first part of the clients' names.
  private var usersByName: [String: Set<Int64>] = [:]
  /// What a user is called here.
  private var names: [Int64: String] = [:]

  /// No client has registered, so each is the user that its name begins with.
  init() {}

  init(_ exchanges: [Exchange], file: String) throws(RecordingError) {
    var registered: [String] = []
    for exchange in exchanges {
      guard let user = exchange.registeredUser else { continue }
      let client = exchange.client
      if let other = users[client], other != user {
        throw RecordingError(
          message: "\(file):\(exchange.line): \(client) registers as user \(user), but before as "
            + "user \(other)")
      }
      if users[client] == nil { registered.append(client) }
      users[client] = user
      usersByName[RecordedUsers.name(of: client), default: []].insert(user)
    }
    for client in registered {
      guard let user = users[client], names[user] == nil else { continue }
      let name = RecordedUsers.name(of: client)
      names[user] = usersByName[name]?.count == 1 ? name : client
    }
  }

  /// The user's name. Clients of one user give the same.
  func user(of client: String) -> String {
    let name = RecordedUsers.name(of: client)
    let all = usersByName[name] ?? []
    let user = users[client] ?? (all.count == 1 ? all.first : nil)
    return user.flatMap { names[$0] } ?? (all.isEmpty ? name : client)
  }

  private static func name(of client: String) -> String { String(client.prefix { $0 != "/" }) }
}
