package rest

import "github.com/danielgtaylor/huma/v2"

// OpenAPI is the document about operations.
type OpenAPI = huma.OpenAPI

// Schema and Registry are for answers that describe themselves: a type with the
// method Schema(Registry) *Schema is in the document as what it returns.
type (
	Schema   = huma.Schema
	Registry = huma.Registry
)

// TypeNumber is the type of numbers in a Schema.
const TypeNumber = huma.TypeNumber
