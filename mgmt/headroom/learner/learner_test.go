package learner_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/headroom"
	"github.com/sluicelb/sluice/mgmt/headroom/learner"
)

// engine serves two hundred requests a second, each of 20 ms: four in flight.
type engine struct{ begin time.Time }

func (e engine) answered() uint64 { return uint64(time.Since(e.begin)/time.Second) * 200 }

func (e engine) SumBackend(uint32) stats.Backend {
	return stats.Backend{Requests: e.answered(), Established: 4}
}

func (e engine) SumBackendTimes(uint32) (t stats.Times) {
	n := e.answered()
	t.FirstByte.Counts[10], t.FirstByte.Nanos, t.Total.Nanos = n, n*20e6, n*20e6
	return t
}

var shop = &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "shop", Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{Services: []farm.Service{{ID: 1, Name: "web", Backends: []farm.Backend{{ID: 1, Host: "10.0.0.1", Port: 80}}}}}}}}

func open(dir string, log *logtest.Log) *learner.Learner {
	return learner.Open(learner.Options{Dir: dir, Counters: engine{time.Now()}, Config: func() *farm.Config { return shop }, Log: slog.New(slog.NewTextHandler(log, nil))})
}

func knownOf(l *learner.Learner) headroom.Known {
	f := &shop.Farms[0]
	return l.Of(f, &f.HTTP.Services[0].Backends[0], time.Now())
}

// run runs the learner for the duration length.
func run(t *testing.T, l *learner.Learner, length time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); l.Run(ctx) }()
	time.Sleep(length)
	synctest.Wait()
	cancel()
	<-ended
}

func TestLearnedStateSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Log
		l := open(dir, &log)
		if k := knownOf(l); k.State != headroom.Unknown {
			t.Errorf("at first: %+v", k)
		}
		run(t, l, time.Minute)
		was := knownOf(l)
		if was.State != headroom.Unbent || was.Carried < 3.5 || was.Carried > 4.5 {
			t.Fatalf("%+v", was)
		}
		next := open(dir, &log)
		if k := knownOf(next); k.Estimate != was.Estimate || k.Peak != was.Peak || k.Since.Unix() != was.Since.Unix() {
			t.Errorf("after a restart %+v, before %+v", k, was)
		}
		run(t, next, time.Minute) // learning continues
		if k := knownOf(next); k.State != headroom.Unbent {
			t.Errorf("%+v", k)
		}
		if text := log.String(); text != "" {
			t.Errorf("it logs %s, want \"\"", text)
		}
	})
}

// A crash loses at most ten minutes.
func TestLearnedStateIsSavedPeriodically(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Log
		l := open(dir, &log)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); l.Run(ctx) }()
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if k := knownOf(open(dir, &log)); k.State != headroom.Unbent {
			t.Errorf("%+v", k)
		}
		cancel()
		<-ended
	})
}

func TestADamagedFileIsSetAside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, learner.FileName)
	if err := os.WriteFile(path, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log logtest.Log
	l := open(dir, &log)
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "is damaged") || !strings.Contains(text, path+".damaged") {
		t.Errorf("it logs %s", text)
	}
	if kept, err := os.ReadFile(path + ".damaged"); err != nil || !bytes.Equal(kept, []byte("something else")) {
		t.Errorf("%s %v", kept, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file exists: %v", err)
	}
	if k := knownOf(l); k.State != headroom.Unknown {
		t.Errorf("%+v", k)
	}
}

func TestUnreadableFileIsKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, learner.FileName)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	var log logtest.Log
	open(dir, &log)
	if text := log.String(); !strings.Contains(text, "cannot be read") {
		t.Errorf("it logs %s", text)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// A failure to save is logged once, as is the recovery.
func TestDiskFailureIsLoggedOnce(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "gone")
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Log
		l := open(dir, &log)
		for range 3 {
			run(t, l, time.Minute)
		}
		if text := log.String(); strings.Count(text, "cannot be saved") != 1 {
			t.Errorf("it logs %s", text)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if run(t, l, time.Minute); !strings.Contains(log.String(), "is saved again") {
			t.Errorf("it logs %s", log.String())
		}
	})
}
