package api

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// CompressionOptions say which answers of a service are compressed.
type CompressionOptions struct {
	Codings []farm.Coding         `json:"compression" doc:"The preferred one first; none: no compression"`
	Min     uint32                `json:"compression_min,omitempty" doc:"Only with compression"`
	Types   []string              `json:"compression_types,omitempty" doc:"Only with compression"`
	Level   farm.CompressionLevel `json:"compression_level,omitempty" enum:"fast,default,best" doc:"Only with compression"`
}

func compressionOptions(c *farm.Compression) CompressionOptions {
	if c == nil {
		return CompressionOptions{Codings: []farm.Coding{}}
	}
	out := CompressionOptions{Codings: orEmpty(c.Codings), Min: cmp.Or(c.Min, farm.DefaultCompressionMin), Types: c.Types, Level: cmp.Or(c.Level, farm.CompressionDefault)}
	if len(c.Types) == 0 {
		out.Types = farm.DefaultCompressionTypes()
	}
	return out
}
