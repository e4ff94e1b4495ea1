internal import SyncProtocols
internal import UpdateMachine

// Requests for pages, which travel beside the machine's single request, on their way to the server
// and back.

/// Where a request for a page is.
enum Fetching: Sendable {
  case arrives(UInt64)
  case isRead(UInt64)
  case isAnswered(UInt64)
  case fails(UInt64, TransportFailure)
}

/// Why a page or a push is not answered. Unlike a ``SyncFailure`` it carries no text, so that a
/// step is plain bits. The agenda moves steps many times.
enum TransportFailure: Sendable {
  case unreachable
  case timedOut
  case serverFault
  case rateLimited(after: TimeSpan?)
  case unauthorized
  case unsupported
  case rejected
  case malformed

  var failure: SyncFailure {
    switch self {
    case .unreachable: .unreachable
    case .timedOut: .timedOut
    case .serverFault: .serverFault
    case .rateLimited(let after): .rateLimited(after: after)
    case .unauthorized: .unauthorized
    case .unsupported: .unsupported
    case .rejected: .rejected(.none)
    case .malformed: .malformed
    }
  }
}

extension World {
  /// A client asks for a page. Returns the number of the request.
  @discardableResult
  mutating func fetch(
    _ request: PageRequest<Client.Lists.Narrow, Client.Lists.ID>, _ id: RequestID, by client: Int
  ) -> UInt64 {
    clients[client].fetchCount += 1
    let number = clients[client].fetchCount
    clients[client].fetches.append(Client.Fetch(number: number, id: id, request: request))
    if isTraced { note(who(client), "asks for page \(number): \(request)", about: client) }
    drawDeparture(.page, client, number, "page \(number): \(request)")
    depart(.arrives(number), number, client)
    mayHappenMeanwhile(to: client)
    return number
  }

  mutating func fetches(_ client: Int, incarnation: UInt64, _ fetching: Fetching) -> Bool {
    guard clients[client].isRunning, clients[client].incarnation == incarnation else {
      return false
    }
    switch fetching {
    case .arrives(let number): fetchArrives(number, client)
    case .isRead(let number): read(number, client)
    case .isAnswered(let number):
      if postpone(.fetches(client: client, incarnation: incarnation, fetching), for: client) {
        return false
      }
      return isAnswered(number, client)
    case .fails(let number, let reason):
      if postpone(.fetches(client: client, incarnation: incarnation, fetching), for: client) {
        return false
      }
      return fails(number, reason.failure, client)
    }
    return true
  }

  /// The server reads the rows it found, and answers.
  private mutating func read(_ number: UInt64, _ client: Int) {
    armPlant()
    guard let index = index(of: number, client), let found = clients[client].fetches[index].found
    else { return }
    let request = clients[client].fetches[index].request
    var page = App.page(request, found: found, later: server.truth)
    if let breach = pageBreach,
      let wrong = App.page(request, found: found, later: server.truth, breaking: breach)
    {
      page = wrong
      pageBreach = nil
      pageBreachCount += 1
      if isTraced { note("plant", "page \(number) is wrong", about: client) }
    }
    clients[client].fetches[index].page = page
    clients[client].fetches[index].position = server.position
    drawDeparture(.pageAnswer, client, number, "page \(number)")
    depart(.isAnswered(number), number, client)
  }

  private mutating func isAnswered(_ number: UInt64, _ client: Int) -> Bool {
    guard let index = index(of: number, client), let page = clients[client].fetches[index].page
    else { return false }
    let fetch = clients[client].fetches.remove(at: index)
    drawArrival(.pageAnswer, client, number)
    if isTraced { note(who(client), "page \(number) comes", about: client) }
    clients[client].user.note(page, for: fetch.request, fetch.id, readAt: fetch.position)
    situations?.pageWasRead(
      at: fetch.position, finger: checker.accounts[client].position)
    if isHandingOver {
      deliveries.append(.page(client: client, fetch: number, .success(page)))
    } else {
      feed(client, .pageArrived(fetch.id, page))
    }
    return true
  }

  private mutating func fails(_ number: UInt64, _ failure: SyncFailure, _ client: Int) -> Bool {
    guard let index = index(of: number, client) else { return false }
    let fetch = clients[client].fetches.remove(at: index)
    drawArrival(.pageAnswer, client, number)
    if isTraced { note(who(client), "page \(number) fails, \(failure)", about: client) }
    if isHandingOver {
      deliveries.append(.page(client: client, fetch: number, .failure(failure)))
    } else {
      feed(client, .failed(fetch.id, failure, hasLeft: true))
    }
    return true
  }

  private func index(of number: UInt64, _ client: Int) -> Int? {
    clients[client].fetches.firstIndex { $0.number == number }
  }

  /// Sends a request or its answer one way.
  private mutating func depart(_ fetching: Fetching, _ number: UInt64, _ client: Int) {
    switch clients[client].connection {
    case .open: break
    case .refused:
      let delay = latency()
      drawLoss(of: number, client)
      return schedule(.fails(number, .unreachable), client, after: delay)
    case .silent: return drawLoss(of: number, client)
    }
    var delay = latency()
    let fault = strike(faultPlan.outgoing, client)
    switch fault {
    case .lostRequest, .halfOpen, .refusedConnection, .sourceTimeout: drawLoss(of: number, client)
    default: break
    }
    switch fault {
    case .lostRequest, .halfOpen: return
    case .refusedConnection: return schedule(.fails(number, .unreachable), client, after: delay)
    case .sourceTimeout: return schedule(.fails(number, .timedOut), client, after: delay)
    case .slowNetwork: delay += choices.draw(.network, in: 1...FaultPlan.slowTrip)
    default: break
    }
    schedule(fetching, client, after: delay)
  }

  private mutating func fetchArrives(_ number: UInt64, _ client: Int) {
    let delay = choices.draw(.server, in: 1...FaultPlan.quickSnapshot)
    drawArrival(.page, client, number)
    if isMute { return }
    if isServerDown { return answer(number, .serverFault, client, after: delay) }
    if clients[client].isRevoked { return answer(number, .unauthorized, client, after: delay) }
    switch strike(faultPlan.answering, client) {
    case .serverError, .portal: return answer(number, .serverFault, client, after: delay)
    case .rateLimit:
      let wait = choices.pick(.server, [nil, TimeSpan.seconds(-5), .seconds(54), .seconds(3600)])
      return answer(number, .rateLimited(after: wait), client, after: delay)
    case .malformedAnswer: return answer(number, .malformed, client, after: delay)
    case .rejectedRequest: return answer(number, .rejected, client, after: delay)
    default: break
    }
    if let index = index(of: number, client) { clients[client].fetches[index].found = server.truth }
    schedule(.isRead(number), client, after: delay)
  }

  /// The server answers without a page.
  private mutating func answer(
    _ number: UInt64, _ failure: TransportFailure, _ client: Int, after delay: Int64
  ) {
    drawDeparture(.pageAnswer, client, number, "page \(number): \(failure.failure)")
    schedule(.fails(number, failure), client, after: delay)
  }

  /// The request for a page is lost, or the page.
  private mutating func drawLoss(of number: UInt64, _ client: Int) {
    drawLoss(.page, client, number)
    drawLoss(.pageAnswer, client, number)
  }

  private mutating func schedule(_ fetching: Fetching, _ client: Int, after delay: Int64) {
    agenda.add(
      .fetches(client: client, incarnation: clients[client].incarnation, fetching),
      at: now + .milliseconds(delay)
    )
  }
}
