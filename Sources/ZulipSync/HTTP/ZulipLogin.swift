public import MessageSync
public import UpdateMachine

/// A login with a password: what a login screen shows, and the API key for the password.
///
///     let login = try ZulipLogin(to: site)
///     let server = try await login.server()
///     let account = try await login.logIn(as: name, password: password)
///     let connection = try ZulipConnection(to: site, email: account.email, key: account.key)
///
/// **Secrets.** The password is sent to the site once, and is not kept. The key is returned, and is
/// not kept either: the app stores it, for example in a keychain. As with ``ZulipConnection``,
/// redirections are not followed, and no description and no failure contains a secret.
///
/// **Failures.** As those of ``ZulipConnection``; see <doc:Answers>. It never retries.
public struct ZulipLogin: Sendable {
  private let connection: ZulipConnection

  /// Creates a login, and sends nothing. Throws `proxiedSite`, as ``ZulipConnection`` does.
  /// - Parameters:
  ///   - site: the server's address.
  ///   - settings: limits and deadlines; the defaults suit most apps.
  ///   - clock: gives the current date, for answers that say until when to wait but have no `Date`.
  public init(
    to site: ZulipSite, settings: ZulipSettings = ZulipSettings(),
    clock: any DriverClock = SystemClock()
  ) throws(ZulipConnectionError) {
    connection = try ZulipConnection(to: site, settings, clock, authorization: nil)
  }

  // MARK: Before

  /// What a server tells everybody.
  public struct Server: Hashable, Sendable {
    /// The organization's name; `nil` at the root of a server that has no organization there, which
    /// is rare.
    public let realmName: String?
    /// Whether users log in with a password, by ``ZulipLogin/logIn(as:password:within:)``. `fields`
    /// has the methods that need a browser, with their addresses, in
    /// `external_authentication_methods`.
    public let takesPassword: Bool
    /// Whether the user's name is an e-mail address. Otherwise it may be another name, as with
    /// LDAP.
    public let asksForEmail: Bool
    /// Everything that the server told.
    public let fields: ZulipFields

    init(_ answer: ZulipReading) throws(ZulipError) {
      realmName = try answer.textIfPresent("realm_name")
      let methods = try answer.object("authentication_methods")
      takesPassword = try methods.boolIfPresent("password") ?? false
      asksForEmail = try answer.boolIfPresent("require_email_format_usernames") ?? true
      fields = answer.fields
    }
  }

  /// `GET /server_settings`: asks which server this is, and how users log in. If the server's
  /// feature level is below 185 (Zulip 7), it throws `unsupported` with the reason `tooOld`.
  ///
  /// Some servers have many organizations, each at an address of its own. At an address that has
  /// none, it throws `rejected`, with the code `BAD_REQUEST`.
  /// - Parameter deadline: for the whole answer; `nil` means ``ZulipSettings/deadline``.
  public func server(
    within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> Server {
    let found = try await connection.ask(.get, "server_settings", within: deadline) {
      answer throws(ZulipError) in
      // Servers before the first feature level do not name it.
      let level = try answer.numberIfPresent("zulip_feature_level") ?? 0
      let isSupported = level >= ZulipRegister.supportedFeatureLevel
      return (level, isSupported ? try Server(answer) : nil)
    }
    guard let server = found.1 else {
      throw ZulipFailure(.unsupported, .tooOld(found.0), status: 200)
    }
    return server
  }

  // MARK: The key

  /// The user who has logged in.
  public struct Account: Equatable, Sendable {
    /// The user's login for a ``ZulipConnection``, which may be spelled differently from the name
    /// that was given.
    public let email: String
    /// The user's ID.
    public let user: UserID
    /// The user's key. Whoever has it has the whole account.
    public let key: ZulipAPIKey

    init(_ answer: ZulipReading) throws(ZulipError) {
      email = try answer.text("email")
      user = UserID(try answer.number("user_id"))
      let text = try answer.text("api_key")
      do throws(ZulipConnectionError) {
        key = try ZulipAPIKey(text)
      } catch {
        throw answer.malformed("api_key")
      }
    }
  }

  /// `POST /fetch_api_key`: fetches the user's API key for the password. Ask ``server(within:)``
  /// first: only its answer says that a server is too old.
  ///
  /// Most refusals are `unauthorized`. The reason is `refused` with one of the codes
  /// `RejectionCode.wrongPassword`, `.userDeactivated`, `.realmDeactivated`,
  /// `.passwordLoginDisabled` and `.passwordResetRequired`, or with another code of the server.
  ///
  /// Two are `rejected`: a name that is no e-mail address, where the server wants one, with the
  /// code `BAD_REQUEST`; and an address without an organization, with `NONEXISTENT_SUBDOMAIN`.
  /// After too many attempts it is `rateLimited`.
  ///
  /// - Parameters:
  ///   - name: the user's e-mail address, or the name that the server's directory has.
  ///   - password: the user's password.
  ///   - deadline: for the whole answer; `nil` means ``ZulipSettings/deadline``.
  public func logIn(
    as name: String, password: String, within deadline: TimeSpan? = nil
  ) async throws(ZulipFailure) -> Account {
    var form = ZulipForm()
    form.add("username", .text(name))
    form.add("password", .text(password))
    return try await connection.ask(.post, "fetch_api_key", form, within: deadline) {
      answer throws(ZulipError) in
      try Account(answer)
    }
  }
}

/// Zulip's codes for a login that is refused (its `zerver/lib/exceptions.py`).
extension RejectionCode {
  /// The user's name or the password is wrong.
  public static var wrongPassword: RejectionCode { RejectionCode("AUTHENTICATION_FAILED") }
  /// The user's account is deactivated. Any other request may get this, too.
  public static var userDeactivated: RejectionCode { RejectionCode("USER_DEACTIVATED") }
  /// The organization is deactivated. Any other request may get this, too.
  public static var realmDeactivated: RejectionCode { RejectionCode("REALM_DEACTIVATED") }
  /// The organization does not allow passwords.
  public static var passwordLoginDisabled: RejectionCode {
    RejectionCode("PASSWORD_AUTH_DISABLED")
  }
  /// The user must choose another password first, in a browser.
  public static var passwordResetRequired: RejectionCode {
    RejectionCode("PASSWORD_RESET_REQUIRED")
  }
}
