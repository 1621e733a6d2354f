package api_test

import (
	"encoding/json"
	"net/url"
	"testing"
)

// Each field that a list shows as text, number or time is a filter of it by that name, and
// the item is found by its own value.
func TestListsAreFilteredByEachFieldTheyShow(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	a.people()
	a.certificate("shop.pem", "shop.test")
	a.authorities("clients")
	a.must(200, "POST", fg, `{"name":"alive","command":"check_tcp -H HOST -p PORT"}`)
	for _, path := range []string{"/farms", "/certificates", "/certificates/ca", fg, "/rbac/groups", "/rbac/users", "/rbac/roles", "/keys", web + "/backends", "/farms/dns/backends"} {
		items, _ := a.must(200, "GET", path, "").at("params").([]any)
		if len(items) == 0 {
			t.Errorf("%s shows nothing", path)
			continue
		}
		item, _ := items[0].(map[string]any)
		for name, value := range item {
			switch value.(type) {
			case string, json.Number, float64:
				if name == "added" || name == "creation" || name == "created" || name == "expiration" {
					continue // times are not compared
				}
			default:
				continue
			}
			text, _ := value.(string)
			if text == "" {
				raw, _ := json.Marshal(value)
				if text = string(raw); text == `""` {
					continue
				}
			}
			r := a.do("GET", path+"?"+url.Values{name: {text}}.Encode(), "")
			if found, _ := r.at("params").([]any); r.status != 200 || len(found) == 0 {
				t.Errorf("%s?%s=%s: %d %.200s", path, name, text, r.status, r.raw)
			}
		}
	}
	// The names of the contract stay.
	for _, query := range []string{"name=shop", "farmname=shop", "farmname=sho"} {
		if found, _ := a.must(200, "GET", "/farms?"+query, "").at("params").([]any); len(found) != 1 {
			t.Errorf("%s: %d farms", query, len(found))
		}
	}
}
