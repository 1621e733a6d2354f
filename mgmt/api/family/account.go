package family

import (
	"net/http"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// account maps the account operations of generation 3 (users zapi and root) to the operations
// on the caller's account. The user zapi was root with an API key.
func (c *call) account() {
	who := rest.Asker(c.r.Context())
	if !who.Who.Root() {
		c.refuse(rest.Refuse(http.StatusForbidden, "you may not do this: it is about the key and the password of root; your own are at /system/users"))
		return
	}
	const now = Base + "/system/users"
	switch {
	case c.r.Method == http.MethodGet:
		c.r = rest.Moved(c.r, http.MethodGet, now)
		c.answer(func(body map[string]any) {
			params, _ := body["params"].(map[string]any)
			body["params"] = map[string]any{"user": "zapi", "key": "", "status": params["zapi_permissions"]}
		})
		return
	case c.at[2] == "zapi":
		c.asUser()
	}
	c.r = rest.Moved(c.r, http.MethodPost, now)
	c.pass()
}

// asUser renames the fields of the user zapi. Its password was optional, and was removed.
func (c *call) asUser() {
	body := c.body()
	if body == nil {
		return
	}
	out := map[string]any{}
	for name, value := range body {
		switch {
		case name == "key":
			out["zapikey"] = value
		case name == "status" && value == "enable":
			out["zapi_permissions"] = "true"
		case name == "status" && value == "disable":
			out["zapi_permissions"] = "false"
		case name != "newpassword":
			out[name] = value // rejected as unknown
		}
	}
	c.send(out)
}
