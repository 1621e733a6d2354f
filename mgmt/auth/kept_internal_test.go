package auth

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALedgerOutlivesTheProcess(t *testing.T) {
	dir, c := t.TempDir(), newAt()
	l := OpenLedger(dir, slog.Default(), c.now)
	l.loggedIn("ann", netip.MustParseAddr("192.0.2.1"))
	tries(t, l, "ann", "198.51.100.1", 10)
	tries(t, l, "ann", "192.0.2.1", 4)
	if _, err := l.begin(t.Context(), &l.passwords, "eve", netip.MustParseAddr("203.0.113.1")); err != nil {
		t.Fatal(err) // the check is in progress when the process dies
	}
	choice, err := l.begin(t.Context(), &l.choices, "bob", netip.MustParseAddr("203.0.113.2"))
	if err != nil {
		t.Fatal(err)
	}
	choice.end(wrong)
	for range 10 {
		n, _, err := l.beginKey(netip.MustParseAddr("203.0.113.3"))
		if err != nil {
			t.Fatal(err)
		}
		l.endKey(netip.MustParseAddr("203.0.113.3"), n, wrong)
	}
	l.save()
	if text, err := os.ReadFile(l.path); err != nil || strings.Contains(string(text), "ann") {
		t.Errorf("it is kept as %s, %v", text, err)
	}
	if about, err := os.Stat(filepath.Join(dir, FileName)); err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", about, err)
	}

	c.Time = c.Add(30 * time.Second)
	l = OpenLedger(dir, slog.Default(), c.now)
	locked(t, l, "ann", "203.0.113.9", 30*time.Second)
	locked(t, l, "tim", "198.51.100.1", 30*time.Second)
	tries(t, l, "ann", "192.0.2.1", 6) // a known place; ten with the four before
	locked(t, l, "ann", "192.0.2.1", time.Minute)
	tries(t, l, "eve", "203.0.113.4", 9) // ten with the one in progress
	locked(t, l, "eve", "203.0.113.5", time.Minute)
	if n := l.choices.names[account{name: nameOf("bob")}]; n == nil || n.wrong != 1 {
		t.Errorf("choices of a key: %+v", n)
	}
	if n := l.keys[block(netip.MustParseAddr("203.0.113.3"))]; n == nil || n.wrong != 10 {
		t.Errorf("wrong keys: %+v", n)
	}
}

// A clock that is set back must not lengthen a lock.
func TestStoredLockIsNoLongerThanANewOne(t *testing.T) {
	dir, c := t.TempDir(), newAt()
	l := OpenLedger(dir, slog.Default(), c.now)
	l.loggedIn("ann", netip.MustParseAddr("192.0.2.1"))
	tries(t, l, "ann", "198.51.100.1", 10)
	l.save()
	c.Time = c.Add(-24 * time.Hour)
	l = OpenLedger(dir, slog.Default(), c.now)
	locked(t, l, "ann", "203.0.113.9", time.Minute)
	if last := l.places[account{nameOf("ann"), block(netip.MustParseAddr("192.0.2.1"))}]; !last.Equal(c.Time) {
		t.Errorf("the place was used at %s", last)
	}
}

func TestDamagedLedgerLocksNoUser(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"", "{", `{"places":[{"name":"AA==","source":"x"}]}`, "[]"} {
		if err := os.WriteFile(filepath.Join(dir, FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		l := OpenLedger(dir, slog.New(slog.NewTextHandler(&said, nil)), newAt().now)
		if locked(t, l, "ann", "192.0.2.1", 0); !strings.Contains(said.String(), "counting begins anew") {
			t.Errorf("%q: the log is %s", text, said.String())
		}
	}
}

func TestALedgerIsWrittenOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := OpenLedger(dir, slog.Default(), time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { l.Run(ctx); close(done) }()
		names := func() int {
			var k kept
			_ = readKept(l.path, &k)
			return len(k.Passwords.Names)
		}
		tries(t, l, "a", "192.0.2.1", 1)
		synctest.Wait()
		if names() != 1 {
			t.Error("the first guess is not kept at once")
		}
		tries(t, l, "b", "192.0.2.1", 1)
		tries(t, l, "c", "192.0.2.1", 1)
		synctest.Wait()
		if names() != 1 {
			t.Error("each guess is written separately")
		}
		time.Sleep(saveEvery)
		synctest.Wait()
		if names() != 3 {
			t.Error("a second later they are not kept")
		}
		tries(t, l, "d", "192.0.2.1", 1)
		cancel()
		<-done
		if names() != 4 {
			t.Error("the last guess is not kept at the end")
		}
	})
}

func TestAFullDiskIsLoggedOnce(t *testing.T) {
	var said bytes.Buffer
	dir := t.TempDir()
	l := OpenLedger(filepath.Join(dir, "gone"), slog.New(slog.NewTextHandler(&said, nil)), newAt().now)
	l.save()
	l.save()
	if strings.Count(said.String(), "a restart forgets them") != 1 {
		t.Errorf("the log is %s", said.String())
	}
	locked(t, l, "ann", "192.0.2.1", 0)
	if err := os.Mkdir(filepath.Join(dir, "gone"), 0o700); err != nil {
		t.Fatal(err)
	}
	if l.save(); l.failing {
		t.Error("it can be written now")
	}
	NewLedger(newAt().now).save() // it has no file
}
