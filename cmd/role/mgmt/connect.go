package mgmt

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/audit"
	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/cloud"
	"github.com/sluicelb/sluice/mgmt/keyroll"
	"github.com/sluicelb/sluice/mgmt/publish"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/scripts"
	"github.com/sluicelb/sluice/mgmt/trial"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// connectEngine makes the applier and its partners. The publisher, which reaches the engine,
// precedes the applier; everything that changes the configuration follows it.
func (m *manager) connectEngine() (err error) {
	m.responder = &acme.Responder{}
	m.publisher = m.newPublisher()
	if m.listener, err = m.newListener(m.book); err != nil {
		return err
	}
	m.names = m.newFollower()
	m.scripts = scripts.New(scripts.Options{By: m.programs, Log: slog.Default()})
	m.agent = m.newAgent()
	knowChecks(m.programs) // before the applier reads the stored configuration
	m.applier = m.newApplier()
	m.trial = trial.New(trial.Options{Applier: m.applier, Counters: m.counters, Health: m.backendHealth, Now: time.Now, Log: slog.Default()})
	m.certs = certs.NewManager(m.book, m.applier)
	m.certs.Told = m.certificateChanged
	m.acme = acme.New(acme.Options{
		Store: m.store, By: m.programs, Certificates: m.certs, Applier: m.applier, Responder: m.responder,
		Proxy: m.proxy, Told: m.notRenewed, Log: slog.Default(),
	})
	m.cloud = cloud.New(cloud.Options{Store: m.store, Secrets: m.book, Proxy: m.proxy, Log: slog.Default()})
	m.keyroll = keyroll.New(keyroll.Options{
		Applier: m.applier, Delegation: resolve.System{}.Delegation, Told: m.keyReplaced, Now: time.Now, Log: slog.Default(),
	})
	m.backups = m.newBackups()
	m.backups.Finish()
	m.notify = m.notifier(m.book)
	m.onClose(m.notify.Close)
	m.recorded = m.recorder()
	return nil
}

// newPublisher returns the part that sends the configuration to the engine and to netd, with
// certificates, opened zone keys, and responses to ACME challenges.
func (m *manager) newPublisher() *publish.Publisher {
	netd := ctl.NewClient(netdSocket)
	return publish.New(publish.Options{
		Dial:   func(ctx context.Context) (publish.Engine, error) { return link.Dial(ctx, engineSocket) },
		Netd:   netd,
		Kernel: netd, KernelSessions: m.kernel,
		Complete: func(cfg *farm.Config) (*farm.Config, map[uint32]string) {
			out, problems := m.book.Complete(cfg)
			apply.OpenZoneKeys(m.book, out, problems)
			return m.responder.Complete(out), problems
		},
		Page: m.page, Kinds: m.kinds, Places: m.geoip,
		Log: slog.Default(),
	})
}

// newFollower returns the part that resolves host names of the configuration.
func (m *manager) newFollower() *resolve.Follower {
	return resolve.New(resolve.Options{
		Lookup:  resolve.System{}.Lookup,
		Limits:  func() resolve.Limits { return resolve.LoadLimits(m.store) },
		Wanted:  func() []resolve.Question { return apply.NamesOf(m.current()) },
		Changed: m.refreshNames,
		Log:     slog.Default(),
	})
}

// newApplier returns the writer of the configuration. It reads the stored one.
func (m *manager) newApplier() *apply.Applier {
	return apply.New(m.store, m.publisher,
		apply.WithEnded(m.ended), apply.WithTold(m.changed), apply.WithBusy(m.busy),
		apply.WithNames(m.names), apply.WithDelegation(resolve.System{}.Delegation),
		apply.WithFile(sync.OnceValue(m.configFile)), apply.WithLog(slog.Default()),
		apply.WithReferences(m.book), apply.WithSecrets(m.book),
		apply.WithMachine(collectors{m.remote, m.authorities}, m.machine(m.book), m.agent, m.listener),
		apply.WithRules(m.rules()), apply.WithListeners(listeners))
}

// newBackups returns the part that stores and restores archives of the appliance.
func (m *manager) newBackups() *backup.Keeper {
	return backup.New(backup.Options{
		Store: m.store, Applier: m.applier, Certificates: m.book, Places: m.geoip, NodeKeyID: certs.NodeKeyID,
		OnlyRoot: rbac.OnlyRoot, Renumbered: rbac.Renumbered, Restarts: true, Version: m.Version, Log: slog.Default(),
	})
}

// sameCommand reports whether two check commands are equivalent.
func (m *manager) sameCommand(a, b string) bool { return apply.SameCommand(m.book, a, b) }

// rules returns the validation rules for this machine.
func (m *manager) rules() validate.Rules {
	return validate.Rules{Prefixes: validate.SystemPrefixes, Own: m.ownAddress()}
}

func (m *manager) backendHealth(backend uint32) farm.Status { return m.health.Slot(backend).Status() }

// ended adds the automatic end of a change to the audit log, because no call caused it.
func (m *manager) ended(e apply.Ended) {
	m.confirmed(e)
	m.undone(e)
	if e.Author.Source == apply.TimerSource || e.Author.Source == trial.GuardSource {
		m.audit.Add(audit.Entry{User: e.Author.Name, Source: e.Author.Source, Method: "TRIAL", Path: fmt.Sprintf("/history/%d", e.Revision), Status: 200,
			Message: "pending change " + e.Outcome + ": " + e.Reason, Revision: e.Now})
	}
}

// current returns the current configuration.
func (m *manager) current() *farm.Config { cfg, _ := m.applier.Current(); return cfg }
