package revisions

import (
	"fmt"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// exportConfig responds with the whole configuration as a document.
func (s *Resource) exportConfig(c *rest.Call) ([]byte, error) {
	switch format, err := rest.OneOf(c, "format", []string{"yaml", "json"}); {
	case err != nil:
		return nil, err
	case format == "json":
		c.ContentType = "application/json"
		return document.EncodeJSON(c.Config)
	}
	c.ContentType = "application/yaml"
	return document.Encode(c.Config)
}

// Applied is the actual or hypothetical effect of a document.
type Applied struct {
	Revision  uint64              `json:"revision" doc:"Active revision"`
	Unchanged string              `json:"unchanged" enum:"true,false"`
	DryRun    string              `json:"dry_run" enum:"true,false"`
	Diff      string              `json:"diff" doc:"Unified diff of the documents"`
	Deletions []rest.DeletionItem `json:"deletions" doc:"Objects that are or would be deleted, without the objects they contain"`
	Impact    []rest.ImpactItem   `json:"impact" doc:"Actual or expected impact on traffic"`
	Warnings  []string            `json:"warnings" doc:"Settings that are allowed but cannot work"`
	TakesOver []string            `json:"takes_over,omitempty" doc:"Warnings about ports of this machine (e.g. of ssh or the API) that a farm takes over; they are unreachable while the farm runs"`
	Problems  []string            `json:"problems" doc:"Farms that are not running, with the reason"`
}

// applied returns the response to a change of the configuration, as far as the caller may
// see it.
func applied(c *rest.Call, result apply.Result, dryRun bool) Applied {
	out := Applied{
		Revision: c.Revision, Unchanged: strconv.FormatBool(result.Unchanged), DryRun: strconv.FormatBool(dryRun),
		Diff: c.DiffOf(result), Deletions: []rest.DeletionItem{}, Impact: []rest.ImpactItem{},
		Warnings: c.WarningsOf(result), TakesOver: c.TakesOver(result), Problems: c.ProblemsOf(result),
	}
	if result.Before != nil && !result.Unchanged {
		out.Deletions, out.Impact = c.Costs(result.Before, result.Config, dryRun)
	}
	return out
}

// applyConfig replaces the configuration with the document in the body.
func (s *Resource) applyConfig(c *rest.Call) (rest.Object[Applied], error) {
	dryRun, err := c.Flag("dry_run")
	if err != nil {
		return rest.Object[Applied]{}, err
	}
	comment := c.Query("comment")
	if err := rest.CheckComment(comment); err != nil {
		return rest.Object[Applied]{}, err
	}
	raw, err := rest.ReadBody(c.Request, document.MaxSize, rest.DocumentTypes)
	if err != nil {
		return rest.Object[Applied]{}, err
	}
	from := c.Config
	part, err := c.Flag("merge")
	if err != nil {
		return rest.Object[Applied]{}, err
	}
	cfg, err := load(raw, part, from)
	if err != nil {
		return rest.Object[Applied]{}, &rest.Rejection{Status: 400, Message: err.Error(), Cause: err}
	}
	result, err := s.planOrApply(c, cfg, part, comment, dryRun)
	if err != nil {
		return rest.Object[Applied]{}, err
	}
	out := applied(c, result, dryRun)
	if dryRun {
		out.Problems = append(out.Problems, s.foreignVIPs(cfg)...)
	}
	return rest.Object[Applied]{Description: c.Summary(), Params: out}, nil
}

// load reads a document: the whole configuration, or a part to merge into the current one.
// The merge is repeated when the part is applied.
func load(raw []byte, part bool, now *farm.Config) (*farm.Config, error) {
	rules := validate.Rules{Prefixes: validate.SystemPrefixes}
	if !part {
		return document.Load(raw, rules)
	}
	return document.LoadPart(raw, rules, now)
}

// foreignVIPs names the farms of a plan that could not listen. A dry run does not try to
// listen.
func (s *Resource) foreignVIPs(cfg *farm.Config) []string {
	var out []string
	local := s.deps.LocalAddrs()
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped {
			continue
		}
		if err := profile.LocalVIP(f.VIP, local); err != nil {
			out = append(out, fmt.Sprintf("farm %s: %v", f.Name, err))
		}
	}
	return out
}

func (s *Resource) planOrApply(c *rest.Call, cfg *farm.Config, part bool, comment string, dryRun bool) (apply.Result, error) {
	expect, err := c.Expected()
	if err != nil {
		return apply.Result{}, err
	}
	if dryRun {
		if part {
			cfg = document.Merge(c.Config, cfg)
		}
		result, err := s.deps.Applier.Plan(c.Context, cfg)
		if err != nil {
			return result, rest.RejectionOf(err, expect != 0)
		}
		return result, nil
	}
	if comment == "" {
		comment = "apply a document"
	}
	replace := s.deps.Applier.Replace
	if part {
		replace = s.deps.Applier.Merge
	}
	result, err := replace(c.Context, c.Author(), comment, expect, cfg)
	return c.Keep(result, err, expect)
}

// reloadConfig applies the start-up file again.
func (s *Resource) reloadConfig(c *rest.Call) (rest.Object[Applied], error) {
	if s.deps.Reload == nil {
		return rest.Object[Applied]{}, rest.BadRequest("there is no file to reload: start sluice with --config FILE, or apply a document")
	}
	if _, err := c.Expected(); err != nil {
		return rest.Object[Applied]{}, err
	}
	result, err := s.deps.Reload(c.Context, c.Author()) // the applier ends a dry run
	if result, err = c.Keep(result, err, 0); err != nil {
		return rest.Object[Applied]{}, err
	}
	return rest.Object[Applied]{Description: c.Summary(), Params: applied(c, result, false)}, nil
}

func (s *Resource) configOperations() []*rest.Operation {
	const dryRun, comment = "true to only show the difference", "Reason for the change, shown in the history"
	const merge = "true for a partial document: other farms and checks remain"
	return []*rest.Operation{
		rest.Raw(rest.Get, "/config", rbac.ConfigShow, "Export the configuration", s.exportConfig).With("format", "yaml (default) or json"),
		rest.Op(rest.Put, "/config", rbac.ConfigApply, "Apply a document", s.applyConfig).TakesDocument().With("dry_run", dryRun).With("comment", comment).With("merge", merge).Edits().Forces(),
		rest.Op(rest.Post, "/config", rbac.ConfigApply, "Apply a document", s.applyConfig).TakesDocument().With("dry_run", dryRun).With("comment", comment).With("merge", merge).Edits().Forces(),
		rest.Op(rest.Post, "/config/reload", rbac.ConfigApply, "Apply the configuration file again", s.reloadConfig).Edits().Alone(),
		rest.Op(rest.Get, "/history", rbac.HistoryShow, "List the revisions of the configuration", s.listHistory).CutsItself().
			With("limit", "Maximum number of entries; defaults to 50").With("before", "Only revisions with a lower number"),
		rest.Op(rest.Get, "/history/{revision}", rbac.HistoryShow, "Get a revision", s.getRevision),
		rest.Op(rest.Get, "/history/{revision}/diff", rbac.HistoryShow, "Compare two revisions", s.diffRevision).
			With("from", "Revision or tag to compare with; defaults to the previous revision"),
		rest.Op(rest.Post, "/history/rollback", rbac.HistoryRollback, "Restore a revision", s.rollback).Body(rollbackFields{}).Refers().Edits().Forces(),
	}
}
