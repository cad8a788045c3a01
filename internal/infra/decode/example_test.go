package decode_test

import (
	"fmt"
	"log"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/decode"
)

// The paths of an endpoint are compiled once; then each reply is taken apart in
// one pass: items with their ids, dates and fields, and what the reply says of the
// pages after it.
func ExampleDecoder_Page() {
	endpoint := &source.Endpoint{Name: "works", Format: source.FormatJSON, Response: source.Response{
		Items:     []string{"items"},
		ID:        []source.Pick{{Path: "doi"}},
		UpdatedAt: []source.DatedPick{{Pick: source.Pick{Path: "changed", Format: "RFC3339"}, Key: "changed"}},
		Total:     "total",
		Token:     "next",
	}}
	mapping := &source.Mapping{Fields: []source.Field{
		{Name: "title", Kind: source.FieldText, From: []source.Pick{{Path: "title", Clean: []string{"text"}}}},
	}}
	d, err := decode.Compile(endpoint, source.Identity{Form: "DOI"}, mapping, harvest.Calendar{})
	if err != nil {
		log.Fatal(err)
	}
	page, err := d.Page([]byte(`{"total": 2, "next": "abc", "items": [
		{"doi": "https://doi.org/10.1000/ABC", "changed": "2026-03-01T12:00:00Z", "title": " A <i>good</i>   title"},
		{"doi": "10.1000/xyz", "changed": "yesterday", "title": "No date"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*page.Total, page.Token)
	for _, item := range page.Items {
		if item.Problem != nil {
			fmt.Println(item.ID, "goes to quarantine:", item.Problem.Code)
			continue
		}
		fmt.Println(item.ID, item.UpdatedAt.Format(time.RFC3339), string(item.Fields))
	}
	// Output:
	// 2 abc
	// 10.1000/abc 2026-03-01T12:00:00Z {"title":"A good title"}
	// 10.1000/xyz goes to quarantine: bad_date
}

// A reply that lacks what a page must have is no empty page.
func ExampleShapeError() {
	endpoint := &source.Endpoint{Name: "works", Format: source.FormatJSON, Response: source.Response{
		Items: []string{"items"}, ID: []source.Pick{{Path: "doi"}},
	}}
	d, err := decode.Compile(endpoint, source.Identity{}, nil, harvest.Calendar{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = d.Page([]byte(`{"message": "try again later"}`))
	fmt.Println(err)
	// Output: reply has another shape: items: is missing
}
