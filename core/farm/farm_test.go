package farm_test

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestEffectiveValuesMatchTheContract(t *testing.T) {
	low, high := farm.Backend{}, farm.Backend{Weight: 2, Priority: 3}
	rate, named := farm.RateLimit{Requests: 5}, farm.RateLimit{Requests: 5, Period: 6, Burst: 7}
	cookie, ip := farm.Service{Persistence: farm.PersistCookie}, farm.Service{Persistence: farm.PersistIP}
	set := farm.Service{Persistence: farm.PersistCookie, SessionID: "id"}
	for what, c := range map[string][2]any{
		"weights": {[2]int{low.EffectiveWeight(), high.EffectiveWeight()}, [2]int{1, 2}}, "priorities": {[2]int{low.EffectivePriority(), high.EffectivePriority()}, [2]int{1, 3}},
		"periods": {[2]farm.Seconds{rate.EffectivePeriod(), named.EffectivePeriod()}, [2]farm.Seconds{1, 6}}, "bursts": {[2]uint32{rate.EffectiveBurst(), named.EffectiveBurst()}, [2]uint32{5, 7}},
		"a cookie without a name": {cookie.EffectivePersistence(), farm.PersistNone}, "with one": {set.EffectivePersistence(), farm.PersistCookie}, "an address": {ip.EffectivePersistence(), farm.PersistIP},
		"http":                      {farm.DefaultHTTP(), &farm.HTTP{ConnectTimeout: 20, ResponseTimeout: 45, ResurrectTime: 21, RequestTimeout: 30, RewriteLocation: farm.RewriteEnabled, Verbs: farm.VerbsAny}},
		"l4":                        {farm.DefaultL4(), &farm.L4{Protocol: farm.L4TCP, NAT: farm.NATMasquerade, Algorithm: farm.L4Weight, TTL: 60}},
		"tls":                       {farm.DefaultTLS(), &farm.TLS{Certificates: []string{"api.pem"}, DisableTLS10: true, DisableTLS11: true}},
		"the other times of l4xnat": {[]farm.Seconds{farm.DefaultL4Connect, farm.DefaultL4Resurrect}, []farm.Seconds{5, 10}},
		"the other times of http": {[]farm.Seconds{farm.DefaultTTL, farm.DefaultTunnelTimeout, farm.DefaultStopGrace, farm.DefaultSTS, farm.DefaultQueueTimeout, farm.DefaultOutlierTime},
			[]farm.Seconds{120, 600, 30, 21600000, 5, 30}},
		"numbers of http": {[]uint32{farm.DefaultMaxHead, farm.DefaultRedirectCode, farm.DefaultRetries, farm.DefaultRetryBudget, farm.DefaultOutlierPercent, farm.DefaultCompressionMin}, []uint32{64 << 10, 302, 1, 20, 50, 1024}},
		"logs":            {[]uint32{farm.DefaultLogSize, farm.DefaultLogKeep, farm.DefaultL4LogLimit}, []uint32{100, 7, 10}},
		"bounds": {[]uint32{farm.MaxAuthUsers, farm.MaxAuthKeys, farm.MaxRateRequests, uint32(farm.MaxRatePeriod), farm.MaxLogHeaders, farm.MaxPortRanges, farm.MaxSplit, farm.OutlierTimes, farm.MaxFarmID, farm.MaxBackendID},
			[]uint32{256, 64, 1_000_000, 3600, 8, 64, 100, 10, 4095, 65535}},
		"redirects": {farm.RedirectCodes(), []int{301, 302, 307}},
	} {
		if !reflect.DeepEqual(c[0], c[1]) {
			t.Errorf("%s: %v, want %v", what, c[0], c[1])
		}
	}
}

func TestFarmsAndServicesAreFoundByName(t *testing.T) {
	c := farm.Config{Farms: []farm.Farm{{Name: "a"}, {Name: "b", HTTP: &farm.HTTP{TLS: &farm.TLS{}, Services: []farm.Service{{Name: "x"}, {Name: "y"}}}}}}
	if a, b := c.Farm("a"), c.Farm("b"); a != &c.Farms[0] || b != &c.Farms[1] || c.Farm("c") != nil || a.HTTPS() || !b.HTTPS() {
		t.Errorf("found %v and %v", a, b)
	}
	if b := c.Farm("b"); b.Service("y") != &b.HTTP.Services[1] || b.Service("z") != nil || c.Farm("a").Service("y") != nil {
		t.Error("a service is found where it is not")
	}
}

// A copy shares only the immutable bytes of certificates.
func TestCloneSharesOnlyCertificateBytes(t *testing.T) {
	c := &farm.Config{}
	fill(reflect.ValueOf(c).Elem())
	out := c.Clone()
	if !reflect.DeepEqual(out, c) {
		t.Errorf("it differs: got %+v, want %+v", out, c)
	}
	wantNoSharing(t, "Config", reflect.ValueOf(c).Elem(), reflect.ValueOf(out).Elem())
}

// fill gives every slice an element and every pointer a target.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	}
}

func wantNoSharing(t *testing.T, path string, a, b reflect.Value) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Slice:
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", path)
		}
		if a.Kind() == reflect.Pointer {
			wantNoSharing(t, path, a.Elem(), b.Elem())
		} else {
			wantNoSharing(t, path+"[0]", a.Index(0), b.Index(0))
		}
	case reflect.Struct:
		switch a.Type() {
		case reflect.TypeFor[farm.Certificate](), reflect.TypeFor[farm.Authority](), reflect.TypeFor[netip.Addr](), reflect.TypeFor[netip.Prefix]():
			return
		}
		for i := range a.NumField() {
			if f := a.Type().Field(i); f.IsExported() {
				wantNoSharing(t, path+"."+f.Name, a.Field(i), b.Field(i))
			}
		}
	}
}

// Revisions and documents of earlier releases use the field's former name.
func TestLogFieldsAcceptTheirOldNames(t *testing.T) {
	var l farm.AccessLog
	if err := json.Unmarshal([]byte(`{"fields":["path","refusal","rejection"]}`), &l); err != nil ||
		!slices.Equal(l.Fields, []farm.LogField{farm.LogPath, farm.LogRejection, farm.LogRejection}) {
		t.Errorf("read as %v, %v", l.Fields, err)
	}
}
