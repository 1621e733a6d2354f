package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// onSmallDisk returns surroundings in which the data directory is a small file system
// visible only to the program; then holds further commands.
func onSmallDisk(data, size, then string) surroundings {
	return surroundings{shell: fmt.Sprintf(`exec unshare -m /bin/sh -ec 'mount -t tmpfs -o mode=755,size=%s small %s%s; exec "$0" "$@"' "$0" "$@"`, size, data, then)}
}

// asRootHere skips the test if mounting is not possible.
func asRootHere(t *testing.T) identity {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not shown: needs root, to mount a file system")
	}
	return identity{name: "root"}
}

func TestFullDiskIsReportedAndLosesNothing(t *testing.T) {
	who := asRootHere(t)
	data := dataDir(t, who)
	a := startIn(t, who, data, onSmallDisk(data, "8m", ""))
	a.in.shell = fmt.Sprintf(`exec nsenter -m -t %d -- "$0" "$@"`, a.cmd.Process.Pid)
	addr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	a.must("farm", "create", "shop", "vip=127.0.0.1", "vport="+strings.TrimPrefix(addr, "127.0.0.1:"))
	a.must("service", "create", "shop", "all")
	key := a.key()
	filler := fmt.Sprintf("/proc/%d/root%s/filler", a.cmd.Process.Pid, data)
	if err := os.WriteFile(filler, make([]byte, 16<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	loaded := func() string { return regexp.MustCompile(`generation (\d+)`).FindString(a.must("status")) }
	var text, before string
	said, code := "", http.StatusOK
	for i := 0; code == http.StatusOK; i++ { // until the store's free pages are used up
		if i == 100 {
			t.Fatal("writes to a full disk succeed")
		}
		text, before = said, loaded()
		said = fmt.Sprintf("%d %s", i, strings.Repeat(fmt.Sprintf("%x", time.Now().UnixNano()), 200))
		var answer string
		if code, answer = a.rest(key, http.MethodPut, "/farms/shop", map[string]string{"error503": said}); code != http.StatusOK {
			want(t, answer, "nothing was changed", filepath.Join(data, "store.db"), "no space left on device", "the disk mounted at "+data+" (small) is full: make room there")
		}
	}
	if code != http.StatusInsufficientStorage {
		t.Errorf("status %d, want %d", code, http.StatusInsufficientStorage)
	}
	if now := loaded(); before == "" || now != before {
		t.Errorf("the engine saw the change that was refused: %q, before it %q", now, before)
	}
	if out, code := a.run("farm", "set", "shop", "error503="+said); code != 1 {
		t.Errorf("the command ends with %d: %s", code, out)
	} else {
		want(t, out, "is full: make room there")
	}
	within(t, 5*time.Second, "what was there before is in force", func() error { return answersWith(addr, text) })
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	a.must("farm", "set", "shop", "error503=there is room")
	within(t, 5*time.Second, "the change is in force", func() error { return answersWith(addr, "there is room") })
}

func want(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the output lacks %q:\n%s", part, text)
		}
	}
}

// ended checks the output of an instance that must have ended with status 1 without a retry.
func ended(t *testing.T, text string, code int, parts ...string) {
	t.Helper()
	if code != 1 || strings.Contains(text, "sluice serves") || strings.Count(text, "role started") > 4 {
		t.Errorf("status %d:\n%s", code, text)
	}
	want(t, text, parts...)
}

func TestUnwritableDiskEndsTheStart(t *testing.T) {
	who := asRootHere(t)
	for name, c := range map[string]struct{ size, then, says string }{
		"full":      {"8k", "; echo 1 >%s/lock; dd if=/dev/zero of=%[1]s/.filler bs=4k count=9 2>/dev/null || true", "is full: make room there"},
		"small":     {"24k", "; touch %s/lock", "is full: make room there"},
		"too small": {"32k", "; touch %s/lock", "is full: make room there"}, // for the certificate of the API
		"read-only": {"1m", "; touch %s/lock; mount -o remount,ro %[1]s", "is read-only: mount it writable"},
	} {
		t.Run(name, func(t *testing.T) {
			data := dataDir(t, who)
			text, code := endsIn(t, who, data, onSmallDisk(data, c.size, fmt.Sprintf(c.then, data)))
			ended(t, text, code, "the disk mounted at "+data+" (small) "+c.says)
		})
	}
}

func TestUnreadableStoreEndsTheStart(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		data := dataDir(t, who)
		a := start(t, who, data)
		a.must("farm", "create", "shop", "vip=127.0.0.1", fmt.Sprintf("vport=%d", freePort(t)))
		if err := a.stop(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(data, "store.db")
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Repeat("spoiled ", len(whole)/8)), 0o600); err != nil {
			t.Fatal(err)
		}
		text, code := endsIn(t, who, data, surroundings{})
		ended(t, text, code, path, "the store is damaged", "restore the file from a backup")
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		start(t, who, data).must("farm", "show", "shop")
	})
}

// The readable part of a damaged store is in force at the next start. The damaged file is
// kept, and status reports it.
func TestTruncatedStoreIsRepairedAtTheStart(t *testing.T) {
	who := asOne()
	data := dataDir(t, who)
	a := start(t, who, data)
	a.must("farm", "create", "shop", "vip=127.0.0.1", fmt.Sprintf("vport=%d", freePort(t)))
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(data, "store.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(whole)/2)); err != nil {
		t.Fatal(err)
	}
	a = start(t, who, data)
	out, _ := a.run("status")
	want(t, out, "the store was damaged and was repaired", "store.db.damaged-")
	aside, err := filepath.Glob(path + ".damaged-*")
	if err != nil || len(aside) != 1 {
		t.Errorf("set aside: %q, %v", aside, err)
	}
	a.must("farm", "create", "other", "vip=127.0.0.1", fmt.Sprintf("vport=%d", freePort(t)))
}

// Traffic continues while the store cannot be read, and mgmt recovers when the store is
// repaired.
func TestDamagedStoreStopsNoRunningFarm(t *testing.T) {
	who := asOne()
	data := dataDir(t, who)
	a := start(t, who, data)
	addr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	a.must("farm", "create", "shop", "vip=127.0.0.1", "vport="+strings.TrimPrefix(addr, "127.0.0.1:"), "error503=still here")
	a.must("service", "create", "shop", "all")
	path := filepath.Join(data, "store.db")
	if err := os.Rename(path, path+".saved"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("spoiled ", 4096)), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	a.kill("mgmt")
	for range 2 {
		a.await(regexp.MustCompile(`role ends.*store is damaged.*restore the file from a backup`))
	}
	within(t, 5*time.Second, "the farm answers", func() error { return answersWith(addr, "still here") })
	if err := os.Rename(path+".saved", path); err != nil {
		t.Fatal(err)
	}
	within(t, 20*time.Second, "the API is back", func() error {
		if out, code := a.run("farm", "show", "shop"); code != 0 {
			return errors.New(out)
		}
		return nil
	})
}
