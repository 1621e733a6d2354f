package shm_test

import (
	"bytes"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/shm"
)

func TestSealedMemoryCannotBeWrittenOrTruncated(t *testing.T) {
	data := bytes.Repeat([]byte("sluice"), 5000)
	f, err := shm.Sealed("test", data[:100], nil, data[100:])
	closing(t, f, err)

	if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, syscall.EPERM) {
		t.Errorf("write: got %v, want EPERM", err)
	}
	for _, size := range []int64{0, int64(len(data)) - 1, int64(len(data)) + 1} {
		if err := f.Truncate(size); !errors.Is(err, syscall.EPERM) {
			t.Errorf("truncate to %d: got %v, want EPERM", size, err)
		}
	}
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		m, err := syscall.Mmap(int(fd), 0, len(data), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
		if !errors.Is(err, syscall.EPERM) {
			t.Errorf("map for writing: got %v, want EPERM", err)
		}
		if err == nil {
			syscall.Munmap(m)
		}
	})

	m := mapOrFail(t)(shm.MapSealed(f))
	if !bytes.Equal(m.Bytes(), data) {
		t.Error("the mapping does not hold the data")
	}
}

func TestMappingOutlivesItsDescriptor(t *testing.T) {
	f, err := shm.Sealed("test", []byte("still here"))
	if err != nil {
		t.Fatal(err)
	}
	m := mapOrFail(t)(shm.MapSealed(f))
	f.Close()
	if string(m.Bytes()) != "still here" {
		t.Errorf("got %q", m.Bytes())
	}
	if err := m.Close(); err != nil || m.Bytes() != nil {
		t.Errorf("close: %v, bytes %v", err, m.Bytes())
	}
	if err := m.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestMapRefusesMemoryThatCanChange(t *testing.T) {
	plain, err := os.Create(filepath.Join(t.TempDir(), "plain"))
	closing(t, plain, err)
	plain.WriteString("not a memfd")
	shared, err := shm.Shared("test", 4096)
	closing(t, shared, err)
	unsealed := closing(t, unsealedMemfd(t), nil)

	for name, f := range map[string]*os.File{"plain file": plain, "shared memory": shared, "unsealed memfd": unsealed} {
		if m, err := shm.MapSealed(f); !errors.Is(err, shm.ErrNotSealed) {
			t.Errorf("MapSealed of %s: got %v, %v, want ErrNotSealed", name, m, err)
		}
	}
	for name, f := range map[string]*os.File{"plain file": plain, "unsealed memfd": unsealed} {
		if m, err := shm.MapShared(f, false); !errors.Is(err, shm.ErrNotSealed) {
			t.Errorf("MapShared of %s: got %v, %v, want ErrNotSealed", name, m, err)
		}
	}
}

func TestEmptyMemoryIsRefused(t *testing.T) {
	if _, err := shm.Sealed("test", nil); !errors.Is(err, shm.ErrEmpty) {
		t.Errorf("sealed: got %v", err)
	}
	least, err := shm.Shared("test", 1)
	closing(t, least, err)
	for _, size := range []int{0, -1} {
		if _, err := shm.Shared("test", size); !errors.Is(err, shm.ErrEmpty) {
			t.Errorf("shared of %d: got %v", size, err)
		}
	}
}

// The process may have no more than three descriptors, all in use, or files of at most
// three bytes.
func TestKernelErrorsLeakNothing(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	noLeak(t, func() {
		f, err := shm.Shared("test", 4096)
		if err != nil {
			t.Fatal(err)
		}
		open := map[string]func() (*os.File, error){
			"shared":    func() (*os.File, error) { return shm.Shared("test", 4096) },
			"sealed":    func() (*os.File, error) { return shm.Sealed("test", []byte("four")) },
			"event":     func() (*os.File, error) { return shm.Event("test") },
			"read only": func() (*os.File, error) { return shm.ReadOnly(f) },
			"waker":     func() (*os.File, error) { _, err := shm.NewWaker(f); return nil, err },
			"detached":  func() (*os.File, error) { _, err := shm.Detach(f); return nil, err }, // closes f
		}
		for resource, c := range map[int]struct {
			why   error
			names []string
		}{
			syscall.RLIMIT_FSIZE: {syscall.EFBIG, []string{"shared", "sealed"}}, syscall.RLIMIT_NOFILE: {syscall.EMFILE, []string{"shared", "sealed", "event", "read only", "waker", "detached"}},
		} {
			for _, name := range c.names {
				var limit syscall.Rlimit
				if err := syscall.Getrlimit(resource, &limit); err != nil {
					t.Fatal(err)
				}
				_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: 3, Max: limit.Max})
				got, err := open[name]()
				if restored := syscall.Setrlimit(resource, &limit); restored != nil {
					t.Fatal(restored)
				}
				if !errors.Is(err, c.why) || got != nil {
					t.Errorf("%s: %v, %v; want %v", name, got, err, c.why)
				}
			}
		}
		f.Close()
	})
}

func TestSharedMemoryIsSeenByBothSidesAndKeepsItsSize(t *testing.T) {
	f, err := shm.Shared("test", 8192)
	closing(t, f, err)
	if err := f.Truncate(4096); !errors.Is(err, syscall.EPERM) {
		t.Errorf("truncate: got %v, want EPERM", err)
	}
	ro, err := shm.ReadOnly(f)
	closing(t, ro, err)

	w, r := mapOrFail(t)(shm.MapShared(f, true)), mapOrFail(t)(shm.MapShared(ro, false))
	if len(w.Bytes()) != 8192 || len(r.Bytes()) != 8192 {
		t.Fatalf("sizes %d and %d", len(w.Bytes()), len(r.Bytes()))
	}
	w.Bytes()[8191] = 7
	if r.Bytes()[8191] != 7 {
		t.Error("the reader does not see the writer's byte")
	}
	if m, err := shm.MapShared(ro, true); !errors.Is(err, syscall.EACCES) {
		t.Errorf("map a read-only descriptor for writing: got %v, %v, want EACCES", m, err)
	}
	if _, err := ro.WriteAt([]byte("x"), 0); err == nil {
		t.Error("a read-only descriptor was written to")
	}
}

func TestReadOnlyMappingFaultsOnWrite(t *testing.T) {
	f, err := shm.Shared("test", 4096)
	closing(t, f, err)
	m := mapOrFail(t)(shm.MapShared(f, false))
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() == nil {
			t.Error("a read-only mapping was written to")
		}
	}()
	m.Bytes()[0] = 1
}

func TestOthersCannotOpenTheMemoryAgain(t *testing.T) {
	f, err := shm.Shared("test", 4096)
	closing(t, f, err)
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if got := st.Mode().Perm(); got != 0o600 {
		t.Errorf("mode %o, want 600: another user's process could open a read-only descriptor for writing", got)
	}
}

func TestSharedMemoryCostsNothingUntilTouched(t *testing.T) {
	f, err := shm.Shared("test", 1<<30)
	closing(t, f, err)
	m := mapOrFail(t)(shm.MapShared(f, true))
	m.Bytes()[1<<29] = 1
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	// One page, or a huge page if the system uses those for shared memory.
	if got := st.Sys().(*syscall.Stat_t).Blocks * 512; got > 2<<20 {
		t.Errorf("a page of 1 GiB touched: %d bytes in use", got)
	}
}

func mapOrFail(t *testing.T) func(*shm.Mapping, error) *shm.Mapping {
	return func(m *shm.Mapping, err error) *shm.Mapping {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
}
