package mgmt

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/guardian"
)

// verdictsFile stores the verdicts of checks for the next start, in the data directory.
const verdictsFile = "verdicts.json"

const (
	// verdictsPause is the minimum time between two writes of the file, verdictsLook the
	// polling interval for changes.
	verdictsPause = 2 * time.Second
	verdictsLook  = 100 * time.Millisecond
	// firstVerdicts is the time a start waits for first results of checks before clients are
	// accepted.
	firstVerdicts = 500 * time.Millisecond
	// maxVerdicts bounds the file, in bytes.
	maxVerdicts = 64 << 20
)

// readVerdicts returns the verdicts of the last run. If the file cannot be read, the first
// results decide.
func readVerdicts(path string) (list []guardian.Verdict) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxVerdicts {
		return nil
	}
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &list)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		slog.Warn("the verdicts of the last run are not known", "file", path, "reason", err)
		return nil
	}
	return list
}

// keepVerdicts writes the verdicts of checks to the file, soon after each change, until ctx
// ends.
func (m *manager) keepVerdicts(ctx context.Context) {
	look := time.NewTicker(verdictsLook)
	defer look.Stop()
	var written uint64 // turn of the verdicts in the file
	var at time.Time
	failed := false
	for {
		turns := m.guardian.Turns()
		if ended := ctx.Err() != nil; turns != written && (ended || time.Since(at) >= verdictsPause) {
			err := writeVerdicts(verdictsFile, m.guardian.Verdicts())
			if err != nil && !failed {
				slog.Warn("the verdicts of checks are not kept for the next start", "reason", disk.Explain(verdictsFile, err))
			}
			failed, written, at = err != nil, turns, time.Now()
			if failed {
				written-- // retry
			}
		}
		select {
		case <-ctx.Done():
			if m.guardian.Turns() == written || failed {
				return
			}
		case <-look.C:
		}
	}
}

func writeVerdicts(path string, list []guardian.Verdict) error {
	content, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return disk.Replace(path, content)
}

// awaitVerdicts briefly delays the first publication until each checked backend has a
// verdict, because clients of a failing backend are worse off than waiting clients.
func (m *manager) awaitVerdicts(ctx context.Context) {
	if os.Getenv(supervisor.FirstVariable) == "" {
		return
	}
	select {
	case <-ctx.Done():
	case <-m.guardian.Known():
	case <-time.After(firstVerdicts):
	}
}
