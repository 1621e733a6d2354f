//go:build !race

package forward_test

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

func TestADatagramOfAFlowCostsNoAllocation(t *testing.T) {
	for name, algorithm := range map[string]farm.L4Algorithm{"rotation": farm.L4RoundRobin, "hash": farm.L4HashFlow} {
		t.Run(name, func(t *testing.T) {
			a := newAppliance(t, 1)
			back, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if err != nil {
				t.Fatal(err)
			}
			defer back.Close()
			_ = back.SetDeadline(time.Now().Add(20 * time.Second))
			f := a.farmUDP(back.LocalAddr().String())
			f.L4.Algorithm = algorithm
			a.publish(f)
			c := a.dialUDP(f)
			buf, out := make([]byte, 100), make([]byte, 64)
			round := func() {
				for range 5 {
					_, _ = c.Write(out)
				}
				for range 5 {
					n, from, err := back.ReadFromUDPAddrPort(buf)
					if err != nil {
						t.Fatal(err)
					}
					_, _ = back.WriteToUDPAddrPort(buf[:n], from)
				}
				for range 5 {
					if _, err := c.Read(buf); err != nil {
						t.Fatal(err)
					}
				}
			}
			round()
			if n := testing.AllocsPerRun(200, round); n > 0 {
				t.Errorf("%v allocations for five datagrams in each direction", n)
			}
		})
	}
}

func TestTenThousandFlowsTakeLessThanAKibibyteEach(t *testing.T) {
	const count = 10_000
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil || r.Cur < count*4/3+500 {
		t.Skipf("not shown: this process may have %d descriptors, %v", r.Cur, err)
	}
	a := newAppliance(t, 1)
	f := a.farmUDP(answering(t, nil).at())
	a.publish(f)
	ask := func(n int) { spoof(t, source(n), netip.MustParseAddrPort(address(f))) }
	ask(count)
	eventually(t, "the first flow is there", func() bool { return a.flows() == 1 })
	heap, rss := memoryInUse(t)
	for n := range count {
		ask(n)
		for end := time.Now().Add(time.Second); n%100 == 0 && a.flows() < n && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	eventually(t, "all flows are there", func() bool { return a.flows() == count+1 })
	heapAfter, rssAfter := memoryInUse(t)
	perHeap, perRSS := (heapAfter-heap)/count, (rssAfter-rss)/count
	t.Logf("%d bytes of heap and %d of resident memory for each flow", perHeap, perRSS)
	if perHeap > 1024 || perRSS > 1024 {
		t.Errorf("a flow takes %d bytes of heap and %d of resident memory", perHeap, perRSS)
	}
}

// memoryInUse returns the live heap and the resident memory of the process in bytes.
func memoryInUse(t testing.TB) (heap, rss int) {
	t.Helper()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Skipf("not shown: %v", err)
	}
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "Rss:"); ok {
			kib := 0
			for _, c := range strings.TrimSpace(strings.TrimSuffix(rest, "kB")) {
				kib = kib*10 + int(c-'0')
			}
			return int(m.HeapAlloc), kib << 10
		}
	}
	t.Skip("not shown: the kernel does not tell the resident memory")
	return 0, 0
}
