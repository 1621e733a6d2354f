package e2e_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/snapshot"
)

// uid returns the user of a role.
func (a *appliance) uid(role string) int {
	a.t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(fmt.Sprintf("/proc/%d", a.pid(role)), &st); err != nil {
		a.t.Fatal(err)
	}
	return int(st.Uid)
}

// publish sends the engine a snapshot in place of mgmt, as mgmt's user, and returns the
// response.
func (a *appliance) publish(snapshot *os.File) (ack link.Ack) {
	a.t.Helper()
	uid, failed := a.uid("mgmt"), make(chan error, 1)
	mgmt := a.pid("mgmt") // otherwise it would reconnect at once
	if err := syscall.Kill(mgmt, syscall.SIGSTOP); err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(mgmt, syscall.SIGCONT) }()
	time.Sleep(100 * time.Millisecond) // until it is stopped and its last message was handled
	go func() {
		runtime.LockOSThread() // permanently: this thread changes its user and ends with the goroutine
		if uid != os.Geteuid() {
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
				failed <- errno
				return
			}
		}
		failed <- func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			client, err := link.Dial(ctx, filepath.Join(a.data, "run/engine.sock"))
			if err != nil {
				return err
			}
			defer client.Close()
			ack, err = client.Publish(ctx, snapshot, nil)
			return err
		}()
	}()
	if err := <-failed; err != nil {
		a.t.Fatal(err)
	}
	return ack
}

func sealed(t *testing.T, b []byte) *os.File {
	t.Helper()
	f, err := shm.Sealed("snapshot", b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestRefusedSnapshotKeepsTheOldOneServing(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		one := mirror(t, "one")
		addr := hostOf(a.farm("shop", one))
		key := a.key()
		vip, backend := netip.MustParseAddrPort(addr), netip.MustParseAddrPort(one)
		config := farm.Config{Farms: []farm.Farm{{ID: 1, Name: "shop", Profile: farm.ProfileHTTP,
			VIP: vip.Addr(), VPort: vip.Port(), HTTP: farm.DefaultHTTP()}}}
		config.Farms[0].HTTP.Services = []farm.Service{{ID: 1, Name: "all", Backends: []farm.Backend{
			{ID: 1, Host: backend.Addr().String(), Addr: backend.Addr(), Port: backend.Port()}}}}
		whole, err := snapshot.Encode(1_000_000, &config)
		if err != nil {
			t.Fatal(err)
		}
		flipped := append([]byte(nil), whole...)
		flipped[len(flipped)/2] ^= 4
		old, err := snapshot.Encode(1, &config)
		if err != nil {
			t.Fatal(err)
		}
		broken := config
		broken.Farms = []farm.Farm{config.Farms[0]}
		h := *config.Farms[0].HTTP
		h.Services = []farm.Service{{ID: 1, Name: "all", URL: "("}}
		broken.Farms[0].HTTP = &h
		unusable, err := snapshot.Encode(2_000_000, &broken)
		if err != nil {
			t.Fatal(err)
		}

		tr := under(t, addr, 4, 4, time.Millisecond)
		for _, bad := range []struct {
			name    string
			content []byte
			reason  string
		}{
			{"garbage", []byte("this is no snapshot, however long it is said to be and is"), "not a snapshot"},
			{"cut short", whole[:len(whole)-1], "length"},
			{"one bit flipped", flipped, "checksum"},
			{"an older generation", old, "not newer"},
			{"a rule that cannot be compiled", unusable, "shop"},
		} {
			if ack := a.publish(sealed(t, bad.content)); !strings.Contains(ack.Refused, bad.reason) {
				t.Errorf("%s: the engine answers %+v", bad.name, ack)
			}
		}
		// mgmt has reconnected and continues normally.
		within(t, 2*time.Second, "a change is taken", func() error {
			if code, text := a.rest(key, put, "/farms/shop", map[string]any{"error503": "x"}); code != http.StatusOK {
				return fmt.Errorf("%d %s", code, text)
			}
			return nil
		})

		// After the highest generation no newer one exists: from now on the engine refuses
		// all snapshots of mgmt.
		last, err := snapshot.Encode(math.MaxUint64, &config)
		if err != nil {
			t.Fatal(err)
		}
		if ack := a.publish(sealed(t, last)); ack.Refused != "" {
			t.Fatalf("the last generation was refused: got %s, want \"\"", ack.Refused)
		}
		within(t, 2*time.Second, "a change is refused with the engine's reason", func() error {
			code, text := a.rest(key, put, "/farms/shop", map[string]any{"error503": "refused"})
			if code != http.StatusConflict || !strings.Contains(text, "the engine refused the configuration") {
				return fmt.Errorf("%d %s", code, text)
			}
			return nil
		})
		if out := a.must("export"); strings.Contains(out, "refused") {
			t.Errorf("a refused change was kept:\n%s", out)
		}
		if code, text := a.rest(key, http.MethodGet, "/status", nil); code != http.StatusOK || !strings.Contains(text, `"settled": "false"`) {
			t.Errorf("the status does not tell that the engine runs something else: %d %s", code, text)
		}
		tr.flawless(t)

		a.kill("engine")
		within(t, time.Second, "a new engine serves", func() error { _, err := get("http://" + addr + "/"); return err })
		within(t, 2*time.Second, "a change is taken again", func() error {
			if code, text := a.rest(key, put, "/farms/shop", map[string]any{"error503": "y"}); code != http.StatusOK {
				return fmt.Errorf("%d %s", code, text)
			}
			return nil
		})
	})
}
