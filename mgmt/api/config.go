package api

import (
	"fmt"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// exportConfig answers with the whole configuration as a document.
func (s *Server) exportConfig(c *call) ([]byte, error) {
	switch format := c.query("format"); format {
	case "", "yaml":
		c.contentType = "application/yaml"
		return document.Encode(c.cfg)
	case "json":
		c.contentType = "application/json"
		return document.EncodeJSON(c.cfg)
	default:
		return nil, badRequest("format: %s is not allowed, allowed are yaml and json", quoteName(format))
	}
}

// Applied says what a document did, or would do.
type Applied struct {
	Revision  uint64   `json:"revision" doc:"Revision in force now"`
	Unchanged string   `json:"unchanged" enum:"true,false"`
	DryRun    string   `json:"dry_run" enum:"true,false"`
	Diff      string   `json:"diff" doc:"Unified difference of the documents"`
	Warnings  []string `json:"warnings" doc:"What is allowed but cannot work"`
	Problems  []string `json:"problems" doc:"Farms that do not run, and why"`
}

func (c *call) applied(result apply.Result, dryRun bool) Applied {
	out := Applied{
		Revision: c.revision, Unchanged: strconv.FormatBool(result.Unchanged), DryRun: strconv.FormatBool(dryRun),
		Diff: result.Diff, Warnings: []string{}, Problems: []string{},
	}
	for i := range result.Warnings {
		out.Warnings = append(out.Warnings, result.Warnings[i].Error())
	}
	for i := range c.cfg.Farms {
		if problem := result.FarmErrors[c.cfg.Farms[i].ID]; problem != "" {
			out.Problems = append(out.Problems, fmt.Sprintf("farm %s: %s", c.cfg.Farms[i].Name, problem))
		}
	}
	return out
}

// applyConfig makes the document of the body the configuration.
func (s *Server) applyConfig(c *call) (Object[Applied], error) {
	dryRun, err := c.flag("dry_run")
	if err != nil {
		return Object[Applied]{}, err
	}
	comment := c.query("comment")
	if err := checkComment(comment); err != nil {
		return Object[Applied]{}, err
	}
	raw, err := readBody(c.r, document.MaxSize, documentTypes)
	if err != nil {
		return Object[Applied]{}, err
	}
	cfg, err := document.Load(raw, validate.Rules{Prefixes: validate.SystemPrefixes})
	if err != nil {
		return Object[Applied]{}, &rejection{status: 400, message: err.Error(), cause: err}
	}
	result, err := s.planOrApply(c, cfg, comment, dryRun)
	if err != nil {
		return Object[Applied]{}, err
	}
	out := c.applied(result, dryRun)
	if dryRun {
		out.Problems = append(out.Problems, s.foreignVIPs(cfg)...)
	}
	return Object[Applied]{Description: c.op.summary, Params: out}, nil
}

// foreignVIPs names the farms of a plan that could not listen, because nothing
// tries to listen in a dry run.
func (s *Server) foreignVIPs(cfg *farm.Config) []string {
	var out []string
	local := s.deps.LocalAddrs()
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped {
			continue
		}
		if err := validate.LocalVIP(f.VIP, local); err != nil {
			out = append(out, fmt.Sprintf("farm %s: %v", f.Name, err))
		}
	}
	return out
}

func (s *Server) planOrApply(c *call, cfg *farm.Config, comment string, dryRun bool) (apply.Result, error) {
	expect, err := c.expected()
	if err != nil {
		return apply.Result{}, err
	}
	if dryRun {
		result, err := s.deps.Applier.Plan(c.ctx, cfg)
		if err != nil {
			return result, rejectionOf(err, expect != 0)
		}
		return result, nil
	}
	if comment == "" {
		comment = "apply a document"
	}
	result, err := s.deps.Applier.Replace(c.ctx, c.author(), comment, expect, cfg)
	return c.keep(result, err, expect)
}

// checkComment bounds the text that explains a change.
func checkComment(text string) error {
	if len(text) > apply.MaxComment {
		return badRequest("comment: %d bytes are too many, allowed are %d", len(text), apply.MaxComment)
	}
	for _, r := range text {
		if !strconv.IsPrint(r) {
			return badRequest("comment: only printable characters are allowed, got %q", r)
		}
	}
	return nil
}

// reloadConfig applies the file the appliance was started with again.
func (s *Server) reloadConfig(c *call) (Object[Applied], error) {
	if s.deps.Reload == nil {
		return Object[Applied]{}, badRequest("there is no file to reload: start sluice with --config FILE, or apply a document")
	}
	if err := c.act(); err != nil {
		return Object[Applied]{}, err
	}
	result, err := s.deps.Reload(c.ctx, c.author())
	if result, err = c.keep(result, err, 0); err != nil {
		return Object[Applied]{}, err
	}
	return Object[Applied]{Description: c.op.summary, Params: c.applied(result, false)}, nil
}
