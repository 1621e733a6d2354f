package tlsconf_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

func TestABuildAdoptsConfigurationsWhileCertificatesStay(t *testing.T) {
	root := newCA(t, "root")
	cfg, l := asking(t, farm.ClientAuthOptional, root.authority(""))
	s := tlsconf.NewStore(tlsconf.Options{})
	if s.Begin(cfg).Adopts() {
		t.Error("the first build adopts")
	}
	first := publish(t, s, cfg, 1, l)
	for range 3 { // farm 1 is not requested
		b := s.Begin(deepCopy(cfg))
		if !b.Adopts() {
			t.Fatal("a build with the same certificates does not adopt")
		}
		if _, err := b.Listener(2, l); err != nil {
			t.Fatal(err)
		}
		b.Commit()
	}
	for what, change := range map[string]func(*farm.Config){
		"nothing": func(*farm.Config) {},
		"name":    func(c *farm.Config) { c.Certificates[1].Name = "other" },
		"chain":   func(c *farm.Config) { c.Certificates[1].Chain[0][9]++ },
		"longer":  func(c *farm.Config) { c.Certificates[1].Chain = append(c.Certificates[1].Chain, []byte{1}) },
		"key":     func(c *farm.Config) { c.Certificates[1].Key[9]++ },
		"staple":  func(c *farm.Config) { c.Certificates[1].Staple = []byte{1} },
		"fewer":   func(c *farm.Config) { c.Certificates = c.Certificates[:1] },
		"order":   func(c *farm.Config) { c.Certificates[0], c.Certificates[1] = c.Certificates[1], c.Certificates[0] },
		"CA":      func(c *farm.Config) { c.Authorities[0].Certificates = [][]byte{{1}} },
		"CA name": func(c *farm.Config) { c.Authorities[0].Name = "other" },
		"CRL":     func(c *farm.Config) { c.Authorities[0].Revoked = append(c.Authorities[0].Revoked, []byte{1}) },
		"no CA":   func(c *farm.Config) { c.Authorities = nil },
	} {
		changed := deepCopy(cfg)
		change(changed)
		if got := s.Begin(changed).Adopts(); got != (what == "nothing") {
			t.Errorf("%s changed: the build adopts: %t", what, got)
		}
	}
	cfg.Certificates = append(cfg.Certificates, root.issue("more", p256(), dns("more.example.com")))
	if publish(t, s, deepCopy(cfg), 1, l) != first {
		t.Error("a configuration that was adopted was built again")
	}
}

// Changes leave configurations without a farm behind. They are removed from time to time.
func TestConfigurationsWithoutAFarmAreRemoved(t *testing.T) {
	cfg, l := simple(t)
	s := tlsconf.NewStore(tlsconf.Options{})
	most, whole := 0, 0
	for farm := range uint32(1000) {
		b := s.Begin(deepCopy(cfg))
		for id := range uint32(10) { // others, which do not change
			if !b.Adopts() {
				if _, err := b.Listener(5000+id, l); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !b.Adopts() {
			whole++
		}
		if _, err := b.Listener(farm, l); err != nil {
			t.Fatal(err)
		}
		b.Commit()
		most = max(most, s.Size())
	}
	if most > 100 || whole > 20 {
		t.Errorf("up to %d configurations are kept, %d of 1,000 builds were complete", most, whole)
	}
}
