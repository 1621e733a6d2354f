package family

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// guardian handles a change of inline health check fields. It performs the equivalent
// current operations in one transaction.
func (c *call) guardian() {
	body := c.body()
	asked := maps.Clone(body)
	delete(asked, "service")
	if err := c.mayGuard(); err != nil {
		c.refuse(err)
		return
	}
	of := c.get(Base + "/farms/" + c.at[1])
	if of == nil {
		c.refuse(rest.NotFound("the farm %s does not exist", rest.Quote(c.at[1])))
		return
	}
	if err := guarded(of, body["service"]); err != nil {
		c.refuse(err)
		return
	}
	if err := checkGuardian(body, asked); err != nil {
		c.refuse(err)
		return
	}
	service, _ := body["service"].(string)
	c.guard(service, asked)
}

func (c *call) mayGuard() *rest.Rejection {
	if !rest.Asker(c.r.Context()).May(rbac.FarmModify) {
		return rest.Refuse(http.StatusForbidden, "you may not do this: the permission %q is needed", rbac.FarmModify)
	}
	return nil
}

// guarded rejects a health check for an object the farm does not have.
func guarded(of map[string]any, service any) *rest.Rejection {
	name, _ := service.(string)
	if _, own := of["backends"]; own { // farms without services
		if service != nil && service != "" {
			return rest.BadRequest("service: an l4xnat farm has none")
		}
		return nil
	}
	for _, s := range list(of["services"]) {
		if s["id"] == service {
			return nil
		}
	}
	return rest.NotFound("the service %s does not exist: the field service names one of the farm", rest.Quote(name))
}

// checkGuardian rejects invalid health check fields.
func checkGuardian(body, asked map[string]any) *rest.Rejection {
	if body == nil {
		return rest.BadRequest("the body must be a JSON object")
	}
	for name, value := range asked {
		text, isText := value.(string)
		switch name {
		case "fgenabled", "fglog":
			if text != "true" && text != "false" {
				return rest.BadRequest("%s: allowed are \"true\" and \"false\"", name)
			}
		case "fgtimecheck":
			if n, is := value.(json.Number); is {
				text, isText = field.Whole(n), true
				asked[name] = json.Number(text)
			}
			if !isText || !natural(text) {
				return rest.BadRequest("fgtimecheck: allowed are whole seconds from 1 on")
			}
		case "fgscript":
			if text == "" {
				return rest.BadRequest("fgscript: it must not be blank")
			}
		default:
			return rest.BadRequest("unknown field %s: allowed are service, fgenabled, fgtimecheck, fgscript and fglog", rest.Quote(name))
		}
	}
	if len(asked) == 0 {
		return rest.BadRequest("No parameter has been sent: allowed are fgenabled, fgtimecheck, fgscript and fglog")
	}
	return nil
}

// natural reports whether text is a positive integer of at most 9 digits.
func natural(text string) bool {
	some := false
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			return false
		}
		some = some || digit != '0'
	}
	return some && len(text) < 10
}

// refuse responds with a rejection.
func (c *call) refuse(err *rest.Rejection) {
	if err.Description == "" {
		err.Description = c.r.Method + " " + rest.QuotePath(c.r.URL.Path)
	}
	rest.NoteOf(c.r.Context()).Message = err.Message
	err.Send(c.w)
}
