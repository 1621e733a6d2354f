package launch

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// jobs are passed to the single thread that forks. It is started on first use and never
// ends, see the package comment.
var (
	jobs  = make(chan func())
	start = sync.OnceFunc(func() {
		go func() {
			runtime.LockOSThread()
			for job := range jobs {
				job()
			}
		}()
	})
)

// onSpawner runs f on the spawner thread while it is pinned to the CPU.
func onSpawner(cpu int, f func() error) error {
	start()
	result := make(chan error)
	jobs <- func() { result <- pinned(cpu, f) }
	return <-result
}

func pinned(cpu int, f func() error) error {
	if cpu < 0 {
		return f()
	}
	before, err := affinity()
	if err != nil {
		return fmt.Errorf("read the CPU affinity: %w", err)
	}
	var want mask
	want.set(cpu)
	if err := setAffinity(want); err != nil {
		return fmt.Errorf("pin to CPU %d: %w", cpu, err)
	}
	defer func() { _ = setAffinity(before) }()
	return f()
}

// mask is the kernel's cpu_set_t for 1024 CPUs.
type mask [16]uint64

func (m *mask) set(cpu int) { m[cpu/64%len(m)] |= 1 << (cpu % 64) }

func (m *mask) has(cpu int) bool { return m[cpu/64]&(1<<(cpu%64)) != 0 }

func affinity() (mask, error) {
	var m mask
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(m), uintptr(unsafe.Pointer(&m)))
	if errno != 0 {
		return m, errno
	}
	return m, nil
}

func setAffinity(m mask) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(m), uintptr(unsafe.Pointer(&m)))
	if errno != 0 {
		return errno
	}
	return nil
}

// CPUs lists the CPUs this program may run on, in order.
func CPUs() ([]int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m, err := affinity()
	if err != nil {
		return nil, err
	}
	var out []int
	for cpu := range len(m) * 64 {
		if m.has(cpu) {
			out = append(out, cpu)
		}
	}
	return out, nil
}
