package mgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sluicelb/sluice/cmd/role/process"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/cmd/supervisor/line"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

const (
	// firstConfigTime is the time the role waits, before it reports ready, for an engine to
	// accept the initial configuration.
	firstConfigTime = 15 * time.Second
	// reloadTime bounds a reload by signal.
	reloadTime = 30 * time.Second
)

// follow applies the document of --config when the instance starts and after each SIGHUP of
// the supervisor. It does not do so when only mgmt restarted, because later changes must
// survive. configured is closed after the first attempt. Only if the document was refused
// and nothing is stored does follow return process.ErrFinal instead.
func (m *manager) follow(ctx context.Context, configured chan<- struct{}) error {
	select {
	case <-m.published:
	case <-ctx.Done():
	case <-time.After(firstConfigTime):
		slog.Error("no engine took the stored configuration yet", "waited", firstConfigTime)
	}
	if os.Getenv(supervisor.FirstVariable) != "" {
		err := m.applyFirst(ctx)
		if _, revision := m.applier.Current(); revision.Number == 0 && isRejection(err) {
			return process.ErrFinal
		}
	}
	close(configured)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.Line.Reload():
		}
		m.logs.Reopen()
		m.applyLogged(ctx, "signal", reloadTime)
	}
}

// isRejection reports whether a document or its contents are at fault, instead of an
// unavailable engine.
func isRejection(err error) bool {
	return err != nil && !errors.Is(err, line.ErrNoConfig) && !errors.Is(err, apply.ErrUnavailable) && !errors.Is(err, context.Canceled)
}

// applyFirst retries while the engine is starting.
func (m *manager) applyFirst(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, firstConfigTime)
	defer cancel()
	for {
		err := m.applyLogged(ctx, "start", firstConfigTime)
		if !errors.Is(err, apply.ErrUnavailable) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (m *manager) applyLogged(ctx context.Context, source string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result, err := m.reload(ctx, apply.Author{Name: "root", Source: source})
	switch {
	case errors.Is(err, line.ErrNoConfig):
	case err != nil:
		for _, one := range document.Problems(err) {
			slog.Error("configuration file not applied", "error", one)
		}
	case result.Unchanged:
		slog.Info("configuration file applied", "changed", false)
	default:
		slog.Info("configuration file applied", "changed", true, "revision", result.Revision.Number)
	}
	return err
}

// reload applies the current document of --config. A failure remains a problem of the
// appliance until a later reload succeeds.
func (m *manager) reload(ctx context.Context, by apply.Author) (apply.Result, error) {
	result, err := m.readConfigFile(ctx, by)
	if !errors.Is(err, line.ErrNoConfig) && !errors.Is(err, context.Canceled) && !errors.Is(err, apply.ErrDryRun) {
		m.rejected.note(m.store, err, time.Now())
	}
	return result, err
}

func (m *manager) readConfigFile(ctx context.Context, by apply.Author) (apply.Result, error) {
	path, content, err := m.Line.Config(ctx)
	switch {
	case errors.Is(err, line.ErrNoConfig):
		return apply.Result{}, err
	case err != nil:
		return apply.Result{}, fmt.Errorf("%w: %w", rest.ErrConfigFile, err)
	}
	cfg, err := document.Load(content, validate.Rules{Prefixes: validate.SystemPrefixes})
	if err != nil {
		return apply.Result{}, fmt.Errorf("%s: %w", path, err)
	}
	return m.applier.Replace(apply.FromFile(ctx), by, "reload "+path, 0, cfg)
}

// configFile returns the path of --config, or "".
func (m *manager) configFile() string {
	path, _, err := m.Line.Config(context.Background())
	if errors.Is(err, line.ErrNoConfig) {
		return ""
	}
	return cmp.Or(path, "the file of --config") // the path is unknown at the moment
}

// rejectedFile is the reason why the file of --config is not in force. It is stored, because
// mgmt may restart without reading the file.
type rejectedFile struct {
	mu     sync.Mutex
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"` // empty: the file is in force
}

// rejectedDocument concerns this node and is excluded from backups.
const rejectedDocument = store.HistoryPrefix + "config-file"

func (r *rejectedFile) load(from *store.Store) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := from.ReadDocument(rejectedDocument, r); err != nil {
		slog.Warn("whether the configuration file was rejected is not known", "error", err)
	}
}

// note stores the result of the last attempt.
func (r *rejectedFile) note(to *store.Store, err error, now time.Time) {
	reason := ""
	if err != nil {
		list := document.Problems(err)
		if reason = list[0].Error(); len(list) > 1 {
			reason = fmt.Sprintf("%s (and %d more: see the log)", reason, len(list)-1)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if reason == "" && r.Reason == "" {
		return
	}
	if r.Reason, r.Time = reason, now.UTC().Truncate(time.Second); reason == "" {
		err = to.DeleteDocument(rejectedDocument)
	} else {
		err = to.WriteDocument(rejectedDocument, r)
	}
	if err != nil {
		slog.Warn("the rejection of the configuration file is not kept", "error", err)
	}
}

// problem describes why the file is not in force, or returns "".
func (r *rejectedFile) problem() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Reason == "" {
		return ""
	}
	return fmt.Sprintf("the configuration file was rejected at %s, and what was in force before is: %s", r.Time.Format(time.RFC3339), r.Reason)
}
