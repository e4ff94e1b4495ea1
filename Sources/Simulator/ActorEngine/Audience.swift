#if !hasFeature(Embedded)

  internal import UpdateMachine

  // The part of an app that shows what its machine tells: it reads the states that the machine
  // publishes, as a screen does. Between two steps, what it has read last must be what is the case.

  extension ActorEngine {
    /// Begins to read, in every second process of a client; in the others nobody observes. No
    /// choice is drawn for this, so a replayed token makes the same one. Without faults nobody
    /// observes, so that a driver gives the same run as a bare client: to wait for a banner takes
    /// steps.
    func letAudienceRead(_ driver: Driver, _ incarnation: SimulatedIncarnation<App>) {
      guard world.configuration.faults != .none,
        (UInt64(incarnation.client) + incarnation.number) & 1 == 1
      else { return }
      incarnation.hasAudience = true
      Task(executorPreference: executor) { [weak driver, weak incarnation] in
        // The stream must not keep the driver: it ends when the driver is released. The reader
        // leaves now and then, and comes back.
        while let states = await driver?.states() {
          var left = 12
          for await state in states {
            incarnation?.seen = state
            left -= 1
            if left == 0 { break }
          }
          if left > 0 { return }
        }
      }
    }

    /// Notes when an app's banner changes by time alone, if nothing else happens. The driver sets
    /// its alarm to that, and perhaps begins to sleep only after more has happened.
    func noteBannerChange(
      _ body: Driver.Client, _ now: Moment, _ incarnation: SimulatedIncarnation<App>
    ) {
      guard incarnation.hasAudience, let change = body.freshnessChange(after: now),
        !incarnation.bannerChanges.contains(change)
      else { return }
      incarnation.bannerChanges.append(change)
      if incarnation.bannerChanges.count > 64 { incarnation.bannerChanges.removeFirst() }
    }

    func noteBannerChange(of incarnation: SimulatedIncarnation<App>) {
      noteBannerChange(world.clients[incarnation.client].body, world.now, incarnation)
    }

    /// Checks that an app has been told of the model, the view, the status, what is pending and the
    /// banner as they are.
    func judgeAudience(of client: Int) {
      guard let incarnation = incarnations[client], incarnation.hasAudience, !executor.isStuck
      else { return }
      let body = world.clients[client].body
      guard let seen = incarnation.seen else {
        return world.checker.report(
          .honesty, client, world.now, "an observer gets the present state at once", "nothing")
      }
      let isModel = seen.model.map(App.checksum) == body.model.map(App.checksum)
      let status = body.isLoaded ? body.status : nil
      let told = (seen.status?.code, seen.pending.count, seen.local?.view.version)
      let present = (status?.code, body.pending.count, body.local?.view.version)
      if !isModel || told != present {
        world.checker.report(
          .honesty, client, world.now, "the app is told of \(present), model \(isModel)", "\(told)")
      }
      let aside = (seen.setAside.count, seen.unreadable.count, seen.uncertain.count)
      let asideNow = (body.setAside.count, body.unreadable.count, body.outbox?.uncertain.count ?? 0)
      if aside != asideNow || (seen.undoable, seen.redoable) != (body.undoable, body.redoable) {
        world.checker.report(
          .honesty, client, world.now, "the app is told what is set aside, and can be undone",
          "\(aside) of \(asideNow)")
      }
      let claim = body.freshness(at: world.now).claim
      // A device wakes late, so the moment at which the banner changes may be over.
      let isLate = sleepers.contains { sleeper in
        sleeper.client == client && sleeper.due <= world.now
          && (sleeper.isAlarm || incarnation.sharedMoments.contains(sleeper.due))
      }
      if seen.freshness.claim != claim, !isLate {
        world.checker.report(
          .honesty, client, world.now, "the app is told of \(claim)", "\(seen.freshness.claim)")
      }
    }
  }

#endif
