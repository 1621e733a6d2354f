package arena

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"
)

// inside marks the process that runs in the private namespace.
const inside = "SLUICE_BENCH_NAMESPACE"

// Environment describes where a run takes place.
type Environment struct {
	// Private is true in a network namespace of our own.
	Private bool `json:"private_namespace"`
	// Reason says why not; valid if Private is false.
	Reason string `json:"reason,omitempty"`
	// Settings are the kernel settings in force, by name.
	Settings map[string]string `json:"settings"`
}

// settings are the sysctls of a run. The ephemeral port range excludes every port on
// which a contestant listens.
var settings = map[string]string{
	"net/ipv4/ip_local_port_range": "10240 65000",
	"net/ipv4/tcp_max_tw_buckets":  "400000",
	"net/core/somaxconn":           "65535",
	"net/ipv4/tcp_tw_reuse":        "1",
}

// Enter restarts the program inside a private network namespace. In the outer process it
// returns done and the exit status of the inner one. In the inner process, or if no
// namespace is available, it returns the Environment and the program continues. Root gets
// a network namespace, other users also a user namespace of the same user.
func Enter(plain bool) (place Environment, status int, done bool) {
	if os.Getenv(inside) != "" {
		if err := furnish(); err != nil {
			fmt.Fprintln(os.Stderr, "bench: prepare the namespace:", err)
			return Environment{}, 1, true
		}
		return Environment{Private: true, Settings: current()}, 0, false
	}
	if plain {
		return Environment{Reason: "asked for with -plain", Settings: current()}, 0, false
	}
	status, err := again()
	if err != nil {
		return Environment{Reason: err.Error(), Settings: current()}, 0, false
	}
	return Environment{}, status, true
}

// again runs this program with the same arguments in a new namespace.
func again() (status int, err error) {
	// The kernel kills the inner process when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGTERM}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		const netAdmin = 12
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{netAdmin}
	}
	// The inner process cleans up and this one only waits. Ctrl-C at a terminal then
	// reaches the inner one twice, which is harmless.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer func() {
		signal.Stop(signals)
		close(signals)
	}()
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("no private network namespace: %w", err)
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	} else if err != nil {
		return 1, nil
	}
	return 0, nil
}

func furnish() error {
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("raise the loopback device: %w", err)
	}
	for name, value := range settings {
		if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0); err != nil && !os.IsPermission(err) {
			return err
		}
	}
	return nil
}

func current() map[string]string {
	out := map[string]string{}
	for name := range settings {
		if text, err := os.ReadFile(filepath.Join("/proc/sys", name)); err == nil {
			out[name] = string(trim(text))
		}
	}
	return out
}

func trim(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == '\n' {
		b = b[:len(b)-1]
	}
	for i := range b {
		if b[i] == '\t' {
			b[i] = ' '
		}
	}
	return b
}

// raiseLoopback sets IFF_UP on lo (netdevice(7)): a new namespace has it down.
func raiseLoopback() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], "lo")
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return errno
	}
	return nil
}
