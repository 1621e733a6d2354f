package system

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

const settingLanguage = "language"

// Languages returns the languages of the web interface, default first.
func Languages() []string { return []string{"en", "es", "de", "fr"} }

func (s *Resource) languageOperations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Get, "/system/language", rbac.Open, "Get the language of the web interface", s.getLanguage),
		rest.Op(rest.Post, "/system/language", rbac.SystemModify, "Change the language of the web interface", s.setLanguage).Body(languageFields{}),
	}
}

// LanguageView is the language of the web interface.
type LanguageView struct {
	Language string `json:"lang"`
}

type languageFields struct{}

// Params are the fields of the body.
func (languageFields) Params() []field.Param {
	return []field.Param{{Name: "language", PossibleValues: Languages(), Options: []string{"non_blank", "required"}, Description: "Language of the web interface. The API and the command line always use English."}}
}

func (s *Resource) language() string {
	if l, ok := s.deps.Settings.Setting(settingLanguage); ok && slices.Contains(Languages(), l) {
		return l
	}
	return Languages()[0]
}

func (s *Resource) getLanguage(c *rest.Call) (rest.Object[LanguageView], error) {
	return rest.Object[LanguageView]{Description: c.Summary(), Params: LanguageView{s.language()}}, nil
}

func (s *Resource) setLanguage(c *rest.Call) (rest.Object[LanguageView], error) {
	none := rest.Object[LanguageView]{}
	if _, err := c.Expected(); err != nil {
		return none, err
	}
	body, err := c.Texts(languageFields{})
	if err != nil {
		return none, err
	}
	if !slices.Contains(Languages(), body["language"]) {
		return none, rest.BadRequest("language must be one of %s, got %s", strings.Join(Languages(), ", "), rest.Quote(body["language"]))
	}
	if err := c.Act(); err != nil {
		return none, err
	}
	if err := s.deps.Settings.SetSetting(settingLanguage, body["language"]); err != nil {
		return none, rest.RejectionOf(err, false)
	}
	out, err := s.getLanguage(c)
	out.Message = "The language has been changed."
	return out, err
}
