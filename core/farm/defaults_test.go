package farm_test

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// Defaults equal those in the manual, and limits those in the contract.
func TestDefaultsAndBoundsMatchTheManual(t *testing.T) {
	for _, test := range []struct {
		name      string
		got, want any
	}{
		{"an http farm", *farm.DefaultHTTP(), farm.HTTP{
			ConnectTimeout: 20, ResponseTimeout: 45, ResurrectTime: 21, RequestTimeout: 30, RewriteLocation: "enabled", Verbs: "any",
		}},
		{"an l4xnat farm", *farm.DefaultL4(), farm.L4{Protocol: "tcp", NAT: "nat", Algorithm: "weight", TTL: 60}},
		{"a listener's TLS", *farm.DefaultTLS(), farm.TLS{Certificates: []string{"api.pem"}, DisableTLS10: true, DisableTLS11: true}},
		{"a cookie", *farm.DefaultCookie(), farm.CookieInsert{Name: "ZENSESSIONID", Path: "/"}},
		{"seconds", []farm.Seconds{
			farm.DefaultTTL, farm.DefaultTunnelTimeout, farm.DefaultStopGrace, farm.DefaultSTS, farm.DefaultL4Connect, farm.DefaultL4Resurrect,
			farm.DefaultTCPIdle, farm.DefaultUDPIdle, farm.DefaultPacketIdleTime, farm.DefaultQueueTimeout, farm.DefaultOutlierTime, farm.MaxRatePeriod,
		}, []farm.Seconds{120, 600, 30, 21600000, 5, 10, 3600, 30, 120, 5, 30, 3600}},
		{"numbers", []int{
			farm.MaxSplit, farm.MaxFarmID, farm.MaxBackendID, int(farm.DefaultMaxHead), int(farm.DefaultL4LogLimit), farm.MaxPortRanges,
			farm.MaxUserspacePorts, farm.MaxAuthUsers, farm.MaxAuthKeys, int(farm.DefaultLogSize), int(farm.DefaultLogKeep), farm.MaxLogHeaders,
			int(farm.DefaultCompressionMin), farm.DefaultRetries, farm.DefaultRetryBudget, farm.DefaultOutlierPercent, farm.OutlierTimes,
			farm.MaxRateRequests, farm.DefaultRedirectCode,
		}, []int{100, 4095, 65535, 65536, 10, 64, 32, 256, 64, 100, 7, 8, 1024, 1, 20, 50, 10, 1_000_000, 302}},
		{"rates", []any{
			(&farm.RateLimit{Requests: 9}).EffectivePeriod(), (&farm.RateLimit{Period: 7}).EffectivePeriod(),
			(&farm.RateLimit{Requests: 9}).EffectiveBurst(), (&farm.RateLimit{Requests: 9, Burst: 3}).EffectiveBurst(),
		}, []any{farm.Seconds(1), farm.Seconds(7), uint32(9), uint32(3)}},
		{"backends", []int{
			(&farm.Backend{}).EffectiveWeight(), (&farm.Backend{Weight: 5}).EffectiveWeight(),
			(&farm.Backend{}).EffectivePriority(), (&farm.Backend{Priority: 5}).EffectivePriority(),
		}, []int{1, 5, 1, 5}},
		{"sessions of l4xnat farms", []farm.Seconds{
			(&farm.Farm{L4: &farm.L4{}}).Own().SessionTTL(), (&farm.Farm{L4: &farm.L4{TTL: 7}}).Own().SessionTTL(),
		}, []farm.Seconds{60, 7}},
		{"ports", []any{
			farm.PortRange{First: 80, Last: 80}.Count(), farm.PortRange{First: 80, Last: 89}.Count(), (&farm.L4{}).PortCount(),
			(&farm.L4{Ports: []farm.PortRange{{First: 1, Last: 2}, {First: 9, Last: 9}}}).PortCount(), (&farm.L4{}).PortsText(),
			(&farm.Farm{L4: &farm.L4{}}).VPorts(),
		}, []any{1, 10, 0, 3, "*", []farm.PortRange{{First: 1, Last: 65535}}}},
		{"addresses", []string{
			(&farm.Farm{VIP: netip.MustParseAddr("192.0.2.1"), VPort: 80}).AddrPort().String(),
			(&farm.Backend{Addr: netip.MustParseAddr("2001:db8::1"), Port: 81}).AddrPort().String(),
		}, []string{"192.0.2.1:80", "[2001:db8::1]:81"}},
	} {
		if !reflect.DeepEqual(test.got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, test.got, test.want)
		}
	}
}

// words returns a list as text.
func words[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return strings.Join(out, " ")
}

// The words of a setting have one order, in help and manual pages.
func TestSettingsHaveTheirWords(t *testing.T) {
	for got, want := range map[string]string{
		words(farm.Profiles()):          "http l4xnat gslb",
		words(farm.LogSinks()):          "file syslog stdout",
		words(farm.RequestIDs()):        " off backend both",
		words(farm.Codings()):           "gzip zstd br",
		words(farm.CompressionLevels()): "fast default best",
		words(farm.ContinueModes()):     "pass ignore silent not-allow",
		words(farm.Overflows()):         "wait refuse",
		words(farm.NATTypes()):          "nat dnat dsr stateless_dnat",
		words(farm.L4Algorithms()):      "weight roundrobin hash_srcip hash_srcip_srcport symhash leastconn prio hash_srcport hash_dstip hash_dstport",
		words(farm.DataPaths()):         "auto userspace kernel",
		words(farm.RetryConditions()):   "connect reset timeout 408 425 429 500 502 503 504",
		words(farm.RateKeys()):          "ip header path",
		words(farm.ResolveWords()):      "first all srv",
		words(farm.CipherPresets()):     "all highsecurity customsecurity ssloffloading",
		words(farm.ClientAuths()):       " optional required",
		words(farm.Verifies()):          "none system ca",
		words(farm.VerbSets()):          "standardHTTP extendedHTTP standardWebDAV MSextWebDAV MSRPCext optionsHTTP any",
		words(farm.PathPolicies()):      "asis canonical strict",
		words(farm.RewriteLocations()):  "disabled enabled enabled-backends enabled-path enabled-backends-path",
		words(farm.RedirectTypes()):     "default append",
		words(farm.Persistences()):      "IP BASIC URL PARM COOKIE HEADER",
		words(farm.RoutingPolicies()):   "ROUND_ROBIN LEAST_CONNECTIONS RESPONSE_TIME PENDING_CONNECTIONS RANDOM_OF_TWO CONSISTENT_HASH",
		words(farm.BackendProtocols()):  "http1 h2",
		words(farm.ProxyIns()):          "off optional required",
		words(farm.ProxyOuts()):         "off v1 v2",
		words(farm.SameSites()):         "lax none strict off",
		words(farm.DefaultRedact()): "authorization cookie proxy-authorization set-cookie x-api-key access_token api_key apikey auth client_secret " +
			"id_token jsessionid key passwd password pwd refresh_token secret session sessionid sig signature token",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if !slices.Equal(farm.RedirectCodes(), []int{301, 302, 307}) {
		t.Errorf("redirects have the codes %v", farm.RedirectCodes())
	}
	types := farm.DefaultCompressionTypes()
	for _, kind := range []string{"text/html", "application/json", "image/svg+xml", "font/otf"} {
		if !slices.Contains(types, kind) {
			t.Errorf("%s is not compressed", kind)
		}
	}
	if slices.Contains(types, "image/png") || len(types) != 24 {
		t.Errorf("%d types are compressed", len(types))
	}
	if !(&farm.Service{BackendProtocol: farm.BackendHTTP2}).Multiplexed() || (&farm.Service{BackendProtocol: farm.BackendHTTP1}).Multiplexed() {
		t.Error("backends of HTTP/2 alone are sent many requests at once")
	}
}

// A farm without settings has empty values and serves nothing.
func TestAFarmWithoutSettingsServesNothing(t *testing.T) {
	none := farm.Farm{VIP: netip.MustParseAddr("192.0.2.1"), VPort: 80}
	log, on := none.Log()
	if none.Reach() != "" || none.ListenerTLS() != nil || none.Headers() != nil || none.Filtered() || none.InEngine() || none.KeepsPort() ||
		none.DefaultMark() != 0 || none.MostConnections() != 0 || log != nil || on || none.KeyHeaders() != nil || none.Carries() != "" || none.IdleTimeout() != 0 {
		t.Error("a farm without settings has non-zero results")
	}
	if !slices.Equal(none.Transports(), []farm.L4Protocol{farm.L4TCP}) || none.PortsText() != "80" || !none.MixesVersions() ||
		!slices.Equal(none.VPorts(), []farm.PortRange{{First: 80, Last: 80}}) {
		t.Errorf("transports %v, ports %s", none.Transports(), none.PortsText())
	}
	if g := (farm.Group{}); g.Name() != "" || g.Backends() != nil {
		t.Error("no group has backends")
	}
	if farm.Profile("none").Carries() != "" || farm.Profile("none").HasServices() {
		t.Error("an unknown profile carries traffic")
	}
	if none.StopAtOnce(); !none.Stopped {
		t.Error("it cannot be stopped")
	}
}

// The machine's packet filter sees only the packets of some farms.
func TestPacketFilterSeesFarmsByNATType(t *testing.T) {
	for nat, want := range map[farm.NATType]bool{farm.NATMasquerade: true, farm.NATTarget: true, farm.NATStateless: true, farm.NATDirect: false} {
		if f := (farm.Farm{L4: &farm.L4{NAT: nat}}); f.Filtered() != want {
			t.Errorf("%s: got %t, want %t", nat, !want, want)
		}
	}
	if f := (farm.Farm{HTTP: farm.DefaultHTTP()}); f.Filtered() || f.Reach() != "" {
		t.Error("an http farm does")
	}
}

// Idle timeouts depend on the transport, and on whether the engine sees the packets.
func TestIdleTimesFollowTheTransport(t *testing.T) {
	for _, test := range []struct {
		l    farm.L4
		want farm.Seconds
	}{
		{farm.L4{Protocol: farm.L4TCP, NAT: farm.NATMasquerade}, 3600},
		{farm.L4{Protocol: farm.L4UDP, NAT: farm.NATMasquerade}, 30},
		{farm.L4{Protocol: farm.L4UDP, NAT: farm.NATMasquerade, IdleTimeout: 7}, 7},
		{farm.L4{Protocol: farm.L4TCP, NAT: farm.NATMasquerade, IdleTimeout: 7}, 7},
		{farm.L4{Protocol: farm.L4TCPUDP, NAT: farm.NATMasquerade}, 0},
		{farm.L4{Protocol: farm.L4TCP, NAT: farm.NATMasquerade, DataPath: farm.DataPathKernel}, 0},
		{farm.L4{Protocol: farm.L4TCP, NAT: farm.NATDirect}, 120},
		{farm.L4{Protocol: farm.L4UDP, NAT: farm.NATStateless}, 120},
		{farm.L4{Protocol: farm.L4UDP, NAT: farm.NATStateless, IdleTimeout: 7}, 7},
	} {
		l := test.l
		l.Ports = []farm.PortRange{{First: 53, Last: 53}}
		if got := (&farm.Farm{Profile: farm.ProfileL4, L4: &l}).IdleTimeout(); got != test.want {
			t.Errorf("%s %s %s: %d s, want %d", l.Protocol, l.NAT, l.DataPath, got, test.want)
		}
	}
}

// Backends made from names come after all others and keep their order.
func TestNewBackendsPrecedeResolvedOnes(t *testing.T) {
	f := farm.Farm{L4: &farm.L4{Backends: []farm.Backend{{ID: 1}, {ID: 2, Of: 1}, {ID: 3, Of: 1}}}}
	if at := f.Own().Add(farm.Backend{ID: 4, Slot: 9}); at != 1 {
		t.Errorf("it is at %d, want 1", at)
	}
	var ids []uint32
	for _, b := range f.Own().Backends() {
		ids = append(ids, b.ID)
	}
	if !slices.Equal(ids, []uint32{1, 4, 2, 3}) || !slices.Equal(f.Own().Numbers(), []int{0, 3, 1, 2}) {
		t.Errorf("backends %v, called %v", ids, f.Own().Numbers())
	}
}
