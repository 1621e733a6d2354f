package forward_test

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/descriptortest"
)

// Without descriptors new clients wait, existing ones continue, and others are served when
// some have left. The test lowers the limit of its process, so the appliance runs in a
// separate one. The backend stays in this one, because without descriptors it could neither
// accept clients nor end connections.
func TestWithoutDescriptorsClientsWait(t *testing.T) {
	backend := os.Getenv("FORWARD_FEW_DESCRIPTORS")
	if backend == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestWithoutDescriptorsClientsWait$", "-test.v")
		cmd.Env = append(os.Environ(), "FORWARD_FEW_DESCRIPTORS="+serve(t, name("hello")).at())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	a := newAppliance(t, 1)
	f := a.farm(backend)
	a.publish(f)
	early := a.dial(f)
	line(t, early)
	// The clients' sockets are opened before the limit is set, so that only the appliance
	// lacks descriptors.
	var waiting, taken []int
	for range 40 {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, fd)
	}
	descriptortest.Limit(t, openDescriptors(t)+12)
	for { // all of them: accepted but unserved connections would release theirs
		fd, err := syscall.Dup(waiting[0])
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	for _, fd := range waiting {
		if err := syscall.Connect(fd, &syscall.SockaddrInet4{Addr: f.VIP.As4(), Port: int(f.L4.Ports[0].First)}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "accepting waits", func() bool { return a.segment.SumLoops()[0].AcceptErrors > 0 })
	_, _ = io.WriteString(early, "still here\n")
	if got := line(t, early); got != "still here" {
		t.Errorf("the existing client got %q, want %q", got, "still here")
	}
	for _, fd := range append(waiting, taken...) {
		_ = syscall.Close(fd)
	}
	eventually(t, "those that left are counted out", func() bool { return a.stats().Established == 1 })
	// The clients that left precede it in the queue and get descriptors first.
	eventually(t, "a client is served", func() bool {
		got := make([]byte, len("hello\n"))
		_, err := io.ReadFull(a.dial(f), got)
		return err == nil && string(got) == "hello\n"
	})
	if !a.health.Slot(1).Usable() {
		t.Error("the backend was marked down")
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("the descriptors of this process are not shown:", err)
	}
	return len(list)
}
