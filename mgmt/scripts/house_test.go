package scripts_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/scripts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a Runner and the folder of its scripts.
type house struct {
	*scripts.Runner
	t      *testing.T
	folder string
	log    *logtest.Log
}

func newHouse(t *testing.T, limit time.Duration) *house {
	t.Helper()
	h := &house{t: t, folder: filepath.Join(t.TempDir(), hook.Folder), log: &logtest.Log{}}
	h.must(os.Mkdir(h.folder, 0o700))
	h.Runner = scripts.New(scripts.Options{Folder: h.folder, Limit: limit, Log: slog.New(slog.NewTextHandler(h.log, nil)),
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }})
	t.Cleanup(h.closeNow)
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// put makes a shell script.
func (h *house) put(name, body string) {
	h.t.Helper()
	h.must(os.WriteFile(filepath.Join(h.folder, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700))
}

// wrote returns the content of a file written by a script.
func (h *house) wrote(name string) string {
	b, _ := os.ReadFile(filepath.Join(h.folder, name))
	return string(b)
}

func (h *house) eventually(not string, holds func() bool) {
	h.t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			list, lost := h.List()
			h.t.Fatalf("%s\n%+v, %d lost\n%s", not, list, lost, h.log)
		}
	}
}

// done waits until all events are processed.
func (h *house) done() {
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	h.Close(ctx)
}

func (h *house) closeNow() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	h.Close(ctx)
}

// view returns the listed state of a script.
func (h *house) view(name string) scripts.View {
	h.t.Helper()
	list, _ := h.List()
	for _, v := range list {
		if v.Name == name {
			return v
		}
	}
	h.t.Fatalf("no %s in %+v", name, list)
	return scripts.View{}
}

func (h *house) logged(part string, times int) {
	h.t.Helper()
	if n := strings.Count(h.log.String(), part); n != times {
		h.t.Errorf("logged %d times, want %d: %q\n%s", n, times, part, h.log)
	}
}
