package publish_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

const secret = "the private key of fa"

// withKey returns a copy of cfg with a certificate and with the second farm stopped.
func withKey(cfg *farm.Config) (*farm.Config, map[uint32]string) {
	out := cfg.Clone()
	out.Certificates = []farm.Certificate{{Name: "a.pem", Chain: [][]byte{{1}}, Key: []byte(secret)}}
	out.Farms[1].Stopped = true
	return out, map[uint32]string{2: "certificate b.pem cannot be used"}
}

func TestOnlyTheEngineGetsCertificates(t *testing.T) {
	cfg := config(a, b2)
	b := newBench(t, cfg)
	b.mu.Lock()
	b.complete = withKey
	b.mu.Unlock()
	e := b.start(t, newEngine())
	out, err := b.Publish(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	got := e.lives()[len(e.lives())-1]
	if len(got.Certificates) != 1 || string(got.Certificates[0].Key) != secret {
		t.Errorf("the engine got %v", got.Certificates)
	}
	if len(cfg.Certificates) != 0 || cfg.Farms[1].Stopped {
		t.Error("the configuration itself was changed")
	}
	if out.FarmErrors[2] != "certificate b.pem cannot be used" || len(out.FarmErrors) != 1 {
		t.Errorf("problems %v", out.FarmErrors)
	}
	if !got.Farms[1].Stopped || strings.Contains(strings.Join(b.netd.keys(), " "), b2) {
		t.Errorf("the farm without its certificate listens: %v", b.netd.keys())
	}
	e.mu.Lock()
	e.refuse = "not this one"
	e.mu.Unlock()
	if _, err := b.Publish(t.Context(), cfg); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
	if log := b.log.String(); strings.Contains(log, secret) || !strings.Contains(log, "certificate b.pem cannot be used") {
		t.Errorf("log:\n%s", log)
	}
}
