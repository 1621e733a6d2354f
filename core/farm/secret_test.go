package farm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestFormattedConfigurationShowsNoKey(t *testing.T) {
	secret := "top-secret"
	cfg := &farm.Config{Certificates: []farm.Certificate{{Name: "shop.pem", Key: []byte(secret), Chain: [][]byte{[]byte("leaf")}}}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
		fmt.Fprintf(&out, verb+"\n", cfg)
		fmt.Fprintf(&out, verb+"\n", cfg.Certificates[0])
		fmt.Fprintf(&out, verb+"\n", &cfg.Certificates[0])
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "config", cfg, "certificate", cfg.Certificates[0])
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "config", cfg, "certificate", cfg.Certificates[0])
	if err := json.NewEncoder(&out).Encode(cfg); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), fmt.Sprint([]byte(secret)), "dG9wLXNlY3JldA", "0x74, 0x6f"} {
		if strings.Contains(out.String(), form) {
			t.Errorf("the key is shown as %s in\n%s", form, out.String())
		}
	}
	for want, v := range map[string]any{
		`certificate "shop.pem"`: cfg.Certificates[0], `user "eve"`: farm.NewAuthUser("eve", secret, secret), "key": farm.AuthKey(secret),
		`challenge "token"`: farm.Challenge{Token: "token", Answer: secret},
	} {
		if got := fmt.Sprintf("%x", v); got != want {
			t.Errorf("%s is shown as %s", want, got)
		}
	}
}
