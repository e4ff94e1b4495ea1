extension Situation {
  /// A row of ``words``.
  package typealias Word = (situation: Situation, name: String, sentence: String)

  /// The name and the sentence of each situation, in the order of the cases.
  package static let words: [Word] =
    wordsOfLog + wordsOfTime + wordsOfChanges + wordsOfPages + wordsOfStorage + wordsOfLogOuts

  private static let wordsOfLog: [Word] = [
    (
      .lateFailureWhileRetryOut, "late-failure-while-retry-out",
      "The failure of a request that was given up arrives while its retry is out."
    ),
    (
      .lateBatchWhileRetryOut, "late-batch-while-retry-out",
      "The answer to a poll that was given up arrives while its retry is out."
    ),
    (
      .lateSnapshotWhileRetryOut, "late-snapshot-while-retry-out",
      "A snapshot that was given up arrives while the next register is out."
    ),
    (
      .lateSnapshotWhileLive, "late-snapshot-while-live",
      "A snapshot that was given up arrives when another one is live already."
    ),
    (.secondBatch, "second-batch", "A second copy of a poll's answer arrives."),
    (.secondSnapshot, "second-snapshot", "A second copy of a snapshot arrives."),
    (
      .lateBatchAfterExpiry, "late-batch-after-expiry",
      "An earlier poll's answer arrives after the log expired, while a quick poll is out."
    ),
    (
      .networkChangeDuringBackoff, "network-change-during-backoff",
      "The network changes while the client waits after a failure."
    ),
    (
      .networkChangeLeavesWait, "network-change-leaves-wait",
      "The network changes, and a wait to register stays as it is."
    ),
    (
      .backgroundWhileRegistering, "background-while-registering",
      "The app goes to the background while a register is out."
    ),
    (
      .foregroundBeforeSnapshot, "foreground-before-snapshot",
      "The app comes back before the snapshot that was out when it left."
    ),
    (.snapshotInBackground, "snapshot-in-background", "A snapshot arrives in the background."),
    (.stopWhileRegistering, "stop-while-registering", "The app stops while a register is out."),
    (.expiryOfWaitingPoll, "expiry-of-waiting-poll", "The log expires while a poll waits on it."),
    (.expiryFoundByQuickPoll, "expiry-found-by-quick-poll", "A quick poll finds the log expired."),
    (
      .expirySoonAfterRegister, "expiry-soon-after-register",
      "The log expires within a minute of its register."
    ),
    (
      .eventsGivenAgain, "events-given-again",
      "A poll is answered with nothing but events that were taken before."
    ),
    (.answerInPart, "answer-in-part", "A poll is answered, and the server has more."),
    (
      .unproductivePoll, "unproductive-poll",
      "A waiting poll is answered at once, with nothing new."
    ),
    (
      .rateLimitTwice, "rate-limit-twice",
      "The server limits the rate again when the wait that it asked for is over."
    ),
    (
      .wakeUnderRateLimit, "wake-under-rate-limit",
      "A signal cannot cut short a wait that the server asked for."
    ),
    (
      .credentialsChangedAfterHalt, "credentials-changed-after-halt",
      "New credentials come after the server refused the old ones."
    ),
    (
      .snapshotRefusedWithChanges, "snapshot-refused-with-changes",
      "A snapshot is refused by the model while changes are pending."
    ),
    (
      .eventRefusedWithChanges, "event-refused-with-changes",
      "An event is refused by the model while changes are pending."
    ),
    (
      .batchAfterStop, "batch-after-stop",
      "The answer to a poll arrives after the app has stopped."
    ),
  ]

  private static let wordsOfTime: [Word] = [
    (
      .freshnessByTimeAlone, "freshness-by-time-alone",
      "What the user is told of freshness changes by time alone."
    ),
    (.deadlineOverslept, "deadline-overslept", "The device sleeps through a poll's deadline."),
    (
      .answerOverslept, "answer-overslept",
      "An answer reaches a device that slept through the poll's deadline."
    ),
    (
      .writeOverslept, "write-overslept",
      "The device sleeps while a write is out that the machine waits for."
    ),
    (.oldSnapshot, "old-snapshot", "A snapshot takes so long that it is old on arrival."),
    (.waitingPollTimesOut, "waiting-poll-times-out", "A waiting poll is given up at its deadline."),
    (.registerTimesOut, "register-times-out", "A register is given up at its deadline."),
    (.paceHoldsPollBack, "pace-holds-poll-back", "After news, the next poll waits for the pace."),
    (
      .fingerDroppedByAge, "finger-dropped-by-age",
      "A finger is given up for its age alone, without asking."
    ),
    (
      .failureWithoutBanner, "failure-without-banner",
      "A poll fails, and the app still says that it is connected."
    ),
    (
      .refreshInBackground, "refresh-in-background",
      "A client at rest in the background asks for news."
    ),
    (
      .refreshFindsExpiry, "refresh-finds-expiry",
      "A refresh in the background finds the log expired."
    ),
    (.formOfUnknownAge, "form-of-unknown-age", "A saved form is read whose age is unknown."),
    (
      .formTooOld, "form-too-old",
      "A saved form is read that seems too old for its finger to be tried."
    ),
  ]

  private static let wordsOfChanges: [Word] = [
    (
      .refusalWhileRetryOut, "refusal-while-retry-out",
      "A refusal arrives while the retry of its push is out."
    ),
    (
      .acceptanceWhileRetryOut, "acceptance-while-retry-out",
      "A push that was given up is accepted while its retry is out."
    ),
    (.secondPushAnswer, "second-push-answer", "A second copy of the answer to a push arrives."),
    (
      .pushAgainAfterConfirmation, "push-again-after-confirmation",
      "A second copy of a push reaches the server after its confirmation."
    ),
    (.pushAfterCrash, "push-after-crash", "A push reaches the server after its process has ended."),
    (
      .pushAfterLogOut, "push-after-log-out",
      "A push reaches the server after its user has logged out."
    ),
    (
      .confirmationBeforeAnswer, "confirmation-before-answer",
      "The log confirms a push before its answer arrives."
    ),
    (.expiryWhilePushOut, "expiry-while-push-out", "The log expires while a push is out."),
    (.snapshotWhilePushOut, "snapshot-while-push-out", "A snapshot arrives while a push is out."),
    (
      .credentialsRefusedWhilePushOut, "credentials-refused-while-push-out",
      "A poll's credentials are refused while a push is out."
    ),
    (.stopWhilePushOut, "stop-while-push-out", "The app stops while a push is out."),
    (
      .backgroundWhilePushOut, "background-while-push-out",
      "The app goes to the background while a push is out."
    ),
    (.pushTimesOut, "push-times-out", "A push is given up at its deadline."),
    (
      .refusalBeforeLaterChanges, "refusal-before-later-changes",
      "A change is refused with later ones in the queue."
    ),
    (
      .pushBehind, "push-behind",
      "The server does nothing about a push, because its client has not seen something."
    ),
    (.pushTakenInPart, "push-taken-in-part", "The server takes only some changes of a push."),
    (.pushTooLarge, "push-too-large", "The server finds a push too large."),
    (.changeWhilePushOut, "change-while-push-out", "The user makes a change while a push is out."),
    (
      .decisionWhilePushOut, "decision-while-push-out",
      "The user decides about a change while a push is out."
    ),
    (
      .undoOfChangeInPush, "undo-of-change-in-push",
      "The user undoes a change that is being pushed."
    ),
    (.undoOfUnsentChange, "undo-of-unsent-change", "The user undoes a change that has never left."),
    (
      .redoWhileUndoInPush, "redo-while-undo-in-push",
      "The user redoes a change while its undo is being pushed."
    ),
    (
      .retryOfUncertainChange, "retry-of-uncertain-change",
      "The user retries a change that is uncertain."
    ),
    (
      .echoSettlesUncertainChange, "echo-settles-uncertain-change",
      "An echo settles a change that was uncertain."
    ),
    (.changeOverruled, "change-overruled", "The confirmed state makes a pending change pointless."),
    (
      .changeThrowsOverNews, "change-throws-over-news",
      "A pending change throws over a newer state."
    ),
    (
      .thrownChangeHeals, "thrown-change-heals",
      "A change that threw passes again over a newer state."
    ),
    (
      .nameLostWithChanges, "name-lost-with-changes",
      "The client gets a new name at the server while changes are pending."
    ),
    (
      .changeBeforeFirstState, "change-before-first-state",
      "The user makes a change before the first snapshot."
    ),
  ]

  private static let wordsOfPages: [Word] = [
    (.expiryWhilePageOut, "expiry-while-page-out", "The log expires while a page is out."),
    (
      .pageAfterWindowClosed, "page-after-window-closed",
      "A page arrives after its window was closed."
    ),
    (
      .pageAfterWindowMoved, "page-after-window-moved",
      "A page arrives after its window was moved elsewhere."
    ),
    (
      .pageOfEarlierLog, "page-of-earlier-log",
      "A page arrives that was asked for under an earlier log."
    ),
    (.pageAheadOfLog, "page-ahead-of-log", "A page arrives that was read ahead of the finger."),
    (
      .pageFailsBesideAnother, "page-fails-beside-another",
      "A request for a page fails while another one is out."
    ),
    (.pageTimesOut, "page-times-out", "A request for a page is given up at its deadline."),
    (.pageWaitsForRows, "page-waits-for-rows", "A page waits for rows of the saved form."),
    (.eventsWaitForRows, "events-wait-for-rows", "Events wait for rows of the saved form."),
    (.expiryWhileRowsRead, "expiry-while-rows-read", "The log expires while rows are read."),
    (
      .backgroundWhilePageOut, "background-while-page-out",
      "The app goes to the background while a page is out."
    ),
    (
      .windowSharesFetch, "window-shares-fetch",
      "A second window opens on a list whose page is out already."
    ),
    (.itemInDoubt, "item-in-doubt", "An answer puts an item in doubt."),
    (.heldItemContradicted, "held-item-contradicted", "A page contradicts an item that is held."),
    (.secondReadingMends, "second-reading-mends", "A second reading mends an item that was wrong."),
  ]

  private static let wordsOfStorage: [Word] = [
    (.crashAfterSave, "crash-after-save", "The process ends between a save and its confirmation."),
    (.crashTearsSave, "crash-tears-save", "The process ends before a save takes effect."),
    (.crashWhilePushOut, "crash-while-push-out", "The process ends while a push is out."),
    (
      .crashWhileRegistering, "crash-while-registering",
      "The process ends while a register is out."
    ),
    (
      .crashWhileLoading, "crash-while-loading",
      "The process ends while the saved form is being read."
    ),
    (
      .restartWithSentChanges, "restart-with-sent-changes",
      "A process begins with changes that may be at the server."
    ),
    (
      .restartWithoutForm, "restart-without-form",
      "A process cannot use the saved form that the one before it wrote."
    ),
    (.loadFailsAgain, "load-fails-again", "Reading the saved form fails a second time."),
    (.stopWhileLoading, "stop-while-loading", "The app stops while the saved form is being read."),
    (
      .backgroundWhileLoading, "background-while-loading",
      "The app goes to the background while the saved form is being read."
    ),
    (.changeWhileSaving, "change-while-saving", "The user makes a change while a save is out."),
    (.saveFailsBeforePush, "save-fails-before-push", "A save fails that a push waits for."),
    (.saveFailsAgain, "save-fails-again", "A save fails right after another one failed."),
    (
      .changesWithoutModel, "changes-without-model",
      "The user's changes are read without their model."
    ),
    (
      .olderOutboxBack, "older-outbox-back",
      "An older outbox comes back, and knows less than was made."
    ),
  ]

  private static let wordsOfLogOuts: [Word] = [
    (.logOutWhilePushOut, "log-out-while-push-out", "The user logs out while a push is out."),
    (.logOutWhilePageOut, "log-out-while-page-out", "The user logs out while a page is out."),
    (.logOutWhileSaving, "log-out-while-saving", "The user logs out while a save is out."),
    (
      .logOutWhileLoading, "log-out-while-loading",
      "The user logs out while the saved form is being read."
    ),
    (.logOutWithChanges, "log-out-with-changes", "The user logs out with changes that never left."),
    (.logOutOffline, "log-out-offline", "The user logs out without a connection."),
    (
      .snapshotAfterLogOut, "snapshot-after-log-out",
      "A snapshot arrives after its user has logged out."
    ),
    (
      .pushAnswerAfterLogOut, "push-answer-after-log-out",
      "The answer to a push arrives after its user has logged out."
    ),
    (
      .answerFromBeforeLogOut, "answer-from-before-log-out",
      "After a log-in, an answer arrives from before the log-out."
    ),
  ]
}
