package resolve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/resolve/dnstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// zone is a name server on this machine: records by name and type.
type zone struct {
	addr string

	mu      sync.Mutex
	records map[string][]dns.RR
	rcode   map[string]int // answer with this code instead
	spoil   func(q, reply *dns.Msg)
	asked   []string // the queries, "udp db.example. A"
}

// serve starts a name server with the given records, in the format of a zone file.
func serve(t *testing.T, records ...string) *zone {
	t.Helper()
	z := &zone{rcode: map[string]int{}}
	z.set(t, records...)
	z.addr = dnstest.Serve(t, z.answer)
	return z
}

// set replaces the records.
func (z *zone) set(t *testing.T, records ...string) {
	t.Helper()
	z.mu.Lock()
	defer z.mu.Unlock()
	z.records = map[string][]dns.RR{}
	for _, text := range records {
		rr, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.ToLower(rr.Header().Name)
		z.records[name] = append(z.records[name], rr)
	}
}

// fail makes the server answer a name with an error; dns.RcodeSuccess ends that.
func (z *zone) fail(name string, rcode int) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.rcode[name] = rcode
}

// wrong sets a function that modifies the answers.
func (z *zone) wrong(spoil func(q, reply *dns.Msg)) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.spoil = spoil
}

// silent stands for a server that does not answer; it is not a response code.
const silent = -1

func (z *zone) answer(network string, w dns.ResponseWriter, q *dns.Msg) {
	z.mu.Lock()
	defer z.mu.Unlock()
	name, kind := strings.ToLower(q.Question[0].Name), q.Question[0].Qtype
	z.asked = append(z.asked, fmt.Sprintf("%s %s %s", network, name, dns.TypeToString[kind]))
	reply := new(dns.Msg).SetReply(q)
	list, known := z.records[name]
	switch code := z.rcode[name]; {
	case code == silent:
		return
	case code != 0:
		reply.Rcode = code
	case !known:
		reply.Rcode = dns.RcodeNameError
	}
	for _, rr := range list {
		if got := rr.Header().Rrtype; got == kind || got == dns.TypeCNAME {
			reply.Answer = append(reply.Answer, rr)
		}
	}
	if z.spoil != nil {
		z.spoil(q, reply)
	}
	if network == "udp" {
		size := dns.MinMsgSize
		if o := q.IsEdns0(); o != nil {
			size = int(o.UDPSize())
		}
		reply.Truncate(size)
	}
	_ = w.WriteMsg(reply)
}

// count returns how many queries contained text.
func (z *zone) count(text string) (n int) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, a := range z.asked {
		if strings.Contains(a, text) {
			n++
		}
	}
	return n
}

// system returns a System with these servers and additional text for resolv.conf and the
// hosts file.
func system(t *testing.T, config, hosts string, servers ...*zone) resolve.System {
	t.Helper()
	for _, z := range servers {
		config += "\nnameserver " + z.addr
	}
	dir := t.TempDir()
	s := resolve.System{Hosts: filepath.Join(dir, "hosts"), Config: filepath.Join(dir, "resolv.conf")}
	for path, text := range map[string]string{s.Hosts: hosts, s.Config: config + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
