package validate_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func TestProfileHTTPSIsProfileHTTPWithItsListener(t *testing.T) {
	t.Parallel()
	const create = `{"farmname":"a","vip":"127.0.0.1","vport":443,"profile":"https"`
	for body, refused := range map[string]string{
		create + `}`:                        "",
		create + `,"listener":"https"}`:     "",
		create + `,"strict_host":true}`:     "",
		create + `,"listener":"http"}`:      "profile https contradicts listener http",
		create[:len(create)-7] + `"HTTPS"}`: "profile must be one of http, l4xnat, https",
		create[:len(create)-7] + `"http"}`:  "-",
	} {
		var f farm.Farm
		err := apply(t, &validate.FarmCreate, body, &f)
		switch {
		case refused == "-":
			if err != nil || f.HTTPS() {
				t.Errorf("%s: %v, https %v", body, err, f.HTTPS())
			}
		case refused == "" && (err != nil || !f.HTTPS() || f.Profile != farm.ProfileHTTP):
			t.Errorf("%s: %v, %+v", body, err, f)
		case refused != "" && (err == nil || !strings.Contains(err.Error(), refused)):
			t.Errorf("%s: %v, want %s", body, err, refused)
		}
	}
	had := farm.Farm{Profile: farm.ProfileHTTP, HTTP: farm.DefaultHTTP()}
	had.HTTP.TLS = farm.DefaultTLS()
	had.HTTP.TLS.DisableHTTP2 = true
	if err := apply(t, &validate.FarmCreate, create+`}`, &had); err != nil || !had.HTTP.TLS.DisableHTTP2 {
		t.Errorf("a copy of an https farm: %v, %+v", err, had.HTTP.TLS)
	}
	l4 := farm.Farm{Profile: farm.ProfileL4, L4: farm.DefaultL4()}
	if err := apply(t, &validate.FarmCreate, create+`}`, &l4); err == nil || !strings.Contains(err.Error(), "must be l4xnat") {
		t.Errorf("a copy of an l4xnat farm: %v", err)
	}
}
