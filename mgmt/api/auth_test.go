package api_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPasswordsAndKeysAreShownNowhereAndSurviveARoundTrip(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	const key = "a key of sixteen or more"
	put := a.must(200, "PUT", web, `{"auth_users":["ali:open sesame"],"auth_header":"X-Key","auth_keys":["`+key+`"],"auth_realm":"inside"}`)
	put.want(t, "params.auth_users.0", "ali:***")
	before := a.config().Farms[0].HTTP.Services[0].Auth
	get := a.must(200, "GET", web, "")
	get.want(t, "services.auth_users.0", "ali:***")
	get.want(t, "services.auth_strip", "true")
	a.must(200, "GET", "/farms/shop", "").want(t, "services.0.auth_header", "X-Key")
	shown := get.at("services").(map[string]any)
	back := map[string]any{}
	for name, v := range shown {
		if strings.HasPrefix(name, "auth_") {
			back[name] = v
		}
	}
	body, _ := json.Marshal(back)
	a.must(200, "PUT", web, string(body))
	after := a.config().Farms[0].HTTP.Services[0].Auth
	if len(after.Users) != 1 || after.Users[0].Hash != before.Users[0].Hash || after.Keys[0] != before.Keys[0] || after.Realm != "inside" {
		t.Errorf("writing %s back gave %+v, want %+v", body, after, before)
	}
	a.must(200, "PUT", web, `{"auth_users":["ali:another one"]}`)
	export := a.must(200, "GET", "/config?format=yaml", "")
	if !strings.Contains(export.raw, "ali:$2") {
		t.Errorf("the export holds no hash: %s", export.raw)
	}
	a.must(200, "PUT", web, `{"auth_users":[],"auth_header":""}`)
	a.must(200, "PUT", "/config", export.raw)
	restored := a.config().Farms[0].HTTP.Services[0].Auth
	if restored == nil || len(restored.Users) != 1 || restored.Keys[0] != before.Keys[0] || restored.Users[0].Hash == before.Users[0].Hash {
		t.Errorf("the export restored %+v", restored)
	}
	all := put.raw + get.raw + a.log.String()
	for _, path := range []string{"/history", "/history/2", "/history/3", "/history/4", "/history/5", "/history/5/diff", "/farms/shop", "/farms"} {
		all += a.do("GET", path, "").raw
	}
	if !strings.Contains(all, "ali:*** (") {
		t.Error("no difference shows that the password changed")
	}
	for _, secret := range []string{"sesame", "another one", key, "$2a$", string(before.Keys[0])} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is shown", secret)
		}
	}
	a.do("PUT", web, `{"auth_users":["bo:***"]}`).refused(t, 400, `user "bo"`)
}
