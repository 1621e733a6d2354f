package acmetest

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/mgmt/resolve/dnstest"
)

// NameServer responds over UDP and TCP. It resolves domains to an address, and has TXT
// records.
type NameServer struct {
	addr    string
	at      netip.Addr
	domains []string

	mu     sync.Mutex
	folder string
	alias  map[string]string
	asked  int // TXT queries
}

// NewNameServer starts a name server.
func NewNameServer(t testing.TB, at netip.Addr, domains []string) *NameServer {
	t.Helper()
	s := &NameServer{at: at, domains: domains, alias: map[string]string{}}
	s.addr = dnstest.Serve(t, func(_ string, w dns.ResponseWriter, q *dns.Msg) { s.answer(w, q) })
	return s
}

// Addr returns its address and port.
func (s *NameServer) Addr() string { return s.addr }

// Records makes the files of a folder TXT records; a file is named "name=value". The hook
// of a test creates and removes files.
func (s *NameServer) Records(folder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.folder = folder
}

// Alias makes name an alias of another name.
func (s *NameServer) Alias(name, of string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alias[name] = of
}

// Asked returns the number of TXT queries.
func (s *NameServer) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *NameServer) answer(w dns.ResponseWriter, q *dns.Msg) {
	reply := new(dns.Msg).SetReply(q)
	reply.Rcode = dns.RcodeNameError
	if len(q.Question) == 1 {
		s.fill(reply, strings.ToLower(strings.TrimSuffix(q.Question[0].Name, ".")), q.Question[0].Qtype)
	}
	_ = w.WriteMsg(reply)
}

func (s *NameServer) fill(reply *dns.Msg, name string, kind uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	head := func(kind uint16) dns.RR_Header {
		return dns.RR_Header{Name: dns.Fqdn(name), Rrtype: kind, Class: dns.ClassINET, Ttl: 1}
	}
	if kind == dns.TypeTXT {
		s.asked++
		if to := s.alias[name]; to != "" {
			reply.Rcode, reply.Answer = dns.RcodeSuccess, append(reply.Answer, &dns.CNAME{Hdr: head(dns.TypeCNAME), Target: dns.Fqdn(to)})
			name = to
		}
		found, _ := filepath.Glob(filepath.Join(s.folder, name+"=*"))
		for _, path := range found {
			if _, err := os.Stat(path); err == nil && s.folder != "" {
				_, value, _ := strings.Cut(filepath.Base(path), "=")
				reply.Rcode, reply.Answer = dns.RcodeSuccess, append(reply.Answer, &dns.TXT{Hdr: head(dns.TypeTXT), Txt: []string{value}})
			}
		}
		return
	}
	for _, d := range s.domains {
		if !strings.EqualFold(name, d) {
			continue
		}
		reply.Rcode = dns.RcodeSuccess
		switch kind {
		case dns.TypeA:
			reply.Answer = []dns.RR{&dns.A{Hdr: head(dns.TypeA), A: s.at.AsSlice()}}
		case dns.TypeSOA:
			reply.Answer = []dns.RR{&dns.SOA{Hdr: head(dns.TypeSOA), Ns: "ns." + dns.Fqdn(d), Mbox: "x."}}
		case dns.TypeNS:
			reply.Answer = []dns.RR{&dns.NS{Hdr: head(dns.TypeNS), Ns: "ns." + dns.Fqdn(d)}}
		}
	}
}
