package all_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// silentNames is a network whose name servers do not answer: a lookup waits for its
// timeout, as the resolver of the system does.
type silentNames struct{ probe.Machine }

func (s *silentNames) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || net.ParseIP(host) != nil {
		return s.Machine.DialContext(ctx, network, address)
	}
	<-ctx.Done()
	return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "i/o timeout", Name: host, IsTimeout: true}}
}

// A command may name a host other than the backend. A dead name server must not cause a
// backend to be marked down.
func TestNameServerFailureIsALocalFault(t *testing.T) {
	to := probetest.Server(t, func(net.Conn) {}) // which gets no request
	for _, command := range []string{
		"check_tcp -H db.example -p 80", "check_tls -H db.example -p 443", "check_http -I db.example -p 80", "check_http -I db.example -p 443 -S --http2", "check_smtp -H db.example -p 25",
		"check_redis -h db.example -p 6379", "check_memcached -H db.example -p 11211", "check_mqtt -H db.example -p 1883", "check_mongodb -H db.example -p 27017", "check_mssql -H db.example -p 1433",
		"check_oracle -H db.example -p 1521 -s x", "check_websocket -H db.example -p 80", "check_ldap -H db.example -p 389 -b dc=x", "check_ldaps -H db.example -p 636 -b dc=x", "check_mysql -H db.example -P 3306 -n",
		"check_mysql -H db.example -P 3306 -u a -p b", "check_pgsql -H db.example -P 5432 -l check -p secret", "check_grpc -H db.example -p 80", "check_sip -R db.example:5060", "check_sip -R db.example:5060 --tcp",
		"check_udp -H db.example -p 7 -s ping", "check_ntp_time -H db.example", "check_snmp -H db.example -o 1.3.6", "check_radius -H db.example -u ann -p a --secret b", "check_dns -s db.example -H name", "check_dig -H db.example -l name",
		"check_ftp -H db.example -p 21", "check_imap -H db.example -p 143",
	} {
		t.Run(strings.Fields(command)[0], func(t *testing.T) {
			t.Parallel()
			p := parse(t, command)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			err := within(t, command, func() error { return p.Run(ctx, &silentNames{}, to, func(string, ...any) {}) })
			if !errors.Is(err, probe.ErrLocal) || !strings.Contains(err.Error(), "not asked: the name db.example was not resolved") {
				t.Errorf("%s: %v", command, err)
			}
		})
	}
}
