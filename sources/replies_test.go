package sources_test

import "github.com/papertrace/patra/internal/domain/source"

// replies are the recordings that the tests of single packs do not speak of.
var replies = []replyWant{
	// PubMed: baseline and update files, and what ESearch, ESummary, EInfo and
	// EPost say in XML.
	{
		pack: "pubmed", purpose: source.ForDetail, file: "pubmed/updatefiles/pubmed21n0001_part.xml.gz",
		items: 49, first: "1", last: "49", total: -1,
		records: map[string]string{"1": `
			title = Formate assay in body fluids: application in methanol poisoning.`},
	},
	{
		pack: "pubmed", purpose: source.ForDetail, file: "pubmed/updatefiles/pubmed21n1001_part.xml.gz",
		items: 37, first: "31418820", last: "31418858", total: -1,
		records: map[string]string{"31418820": `
			title = Out of the testis, into the ovary: biased outcomes of gene duplication and deletion in Drosophila.`},
	},
	{
		pack: "pubmed", purpose: source.ForDetail, file: "pubmed/updatefiles/pubmed21n1002_part.xml.gz",
		items: 45, first: "31449448", last: "31449494", total: -1,
		records: map[string]string{"31449448": `
			title = Evaluation of the number of colony forming units on the skin of dogs after clipping the hair with two sizes of clipper blades.`},
	},
	{
		pack: "pubmed", purpose: source.ForDetail, file: "pubmed/efetch/pmid_31511694.xml",
		items: 1, first: "31511694", last: "31511694", total: -1,
		records: map[string]string{"31511694": `
			title = SLC19A1 transports immunoreactive cyclic dinucleotides.
			journal = Nature
			volume = 573
			issue = 7774
			pages = 434-438
			published = 2019-09
			doi = 10.1038/s41586-019-1553-0
			abstract ~ The accumulation of DNA in the cytosol serves as a key immunostimulatory signal associated with infections, cancer and genomic damage 1,2. Cytosolic
			updated = 2019-09-19
			version = 1`},
	},
	{
		pack: "pubmed-xml", purpose: source.ForSearch, file: "pubmed/esearch/xml_author_translation_2019.xml",
		items: 4, first: "30833575", last: "30610379", total: 4, // and not 339, the count of a term
	},
	{
		pack: "pubmed-xml", purpose: source.ForSearch, file: "pubmed/esearch/xml_biopython_63.xml",
		items: 20, first: "41282813", last: "37810457", total: 63,
	},
	{
		pack: "pubmed-xml", purpose: source.ForSearch, file: "pubmed/esearch/xml_history_2025-12.xml",
		items: 34, first: "40455089", last: "6067859", total: 34, held: "env=MCID_6934533c4c5abba8c303da1d key=1",
	},
	{
		pack: "pubmed-xml", purpose: source.ForSearch, file: "pubmed/esearch/xml_history_reldate60_edat.xml",
		items: 100, first: "41297076", last: "41296368", total: 42249, held: "env=MCID_6927d6e7fee3e90f880ec190 key=1",
	},
	{
		pack: "pubmed-xml", purpose: source.ForSearch, file: "pubmed/esearch/xml_reldate90_edat_2019.xml",
		items: 8, first: "30936730", last: "30610379", total: 8,
	},
	{pack: "pubmed-xml", purpose: source.ForSearch, file: "pubmed/esearch/xml_error_invalid_db.xml", means: "L2 STOP request_refused"},
	{pack: "pubmed-xml", purpose: source.ForSearch, file: "pubmed/esearch/xml_no_items_found.xml", means: " EMPTY no_records"},
	{pack: "pubmed-xml", purpose: source.ForSearch, file: "pubmed/esearch/xml_phrase_not_found_with_hits.xml", means: "L2 STOP query_widened"},
	{pack: "pubmed-xml", purpose: source.ForCount, file: "pubmed/einfo/xml_pubmed_2025-11.xml", total: 39730388},
	{pack: "pubmed-xml", purpose: source.ForCount, file: "pubmed/einfo/xml_error.xml", means: "L2 STOP request_refused"},
	{
		pack: "pubmed-xml", purpose: source.ForDetail, file: "pubmed/esummary/xml_v2_two.xml",
		items: 2, first: "5683731", last: "22144687", total: -1,
		records: map[string]string{
			"5683731": `
				title = An assistive device for smoking.
				authors = Goldberg MJ | Davis LJ
				journal = Paraplegia
				volume = 6
				published = 1968-08`,
			"22144687": `
				title = GenBank.
				authors# = 6
				authors.5 = Sayers EW
				journal_abbrev = Nucleic Acids Res
				published = 2012-01`,
		},
	},
	{
		pack: "pubmed-xml", purpose: source.ForDetail, file: "pubmed/esummary/xml_v1_two.xml",
		items: 2, first: "11850928", last: "11482001", total: -1,
		records: map[string]string{
			"11850928": `
				title = Zirconium granuloma following treatment of rhus dermatitis.
				authors = LoPresti PJ | Hambrick GW Jr
				journal = Archives of dermatology
				journal_abbrev = Arch Dermatol
				volume = 92
				published = 1965-08`,
			"11482001": `
				title = Adverse and beneficial effects of plant extracts on skin and skin disorders.
				published = 2001-06`,
		},
	},
	{pack: "pubmed-xml", purpose: source.ForDetail, file: "pubmed/esummary/xml_error_no_ids.xml", means: "L2 STOP request_refused"},
	{
		pack: "pubmed-esummary", purpose: source.ForSearch, file: "pubmed/esummary/json_two.generated.json",
		items: 2, first: "5683731", last: "22144687", total: -1, held: "title=GenBank.",
	},
	{pack: "pubmed-epost", purpose: source.ForSearch, file: "pubmed/epost/xml_ok.xml", total: -1, held: "env=MCID_692851c130aec64bed0a8c2a key=1"},
	{pack: "pubmed-epost", purpose: source.ForSearch, file: "pubmed/epost/xml_error_bad_ids.xml", means: "L2 STOP request_refused"},

	// Crossref: lists by cursor, by sample, with select, and without items.
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/components_2026.json",
		items: 20, first: "10.1371/journal.pone.0023765", last: "10.1371/journal.pone.0047033.g003", total: 4913582,
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/cursor_created_date_2019_p1.json",
		items: 20, first: "10.1103/physrevc.99.064304", last: "10.1103/physrevc.99.061301", total: 30, next: "AoJ/6e7QoesCPw1odHRwOi8vZHguZG9pLm9yZy8xMC4xMTAzL3BoeXNyZXZ...",
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/cursor_created_date_2019_p2.json",
		items: 10, first: "10.1103/physrevc.99.064312", last: "10.1103/physrevc.99.065201", total: 30, next: "AoJ9lfqGpOsCPw1odHRwOi8vZHguZG9pLm9yZy8xMC4xMTAzL3BoeXNyZXZ...",
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/cursor_created_date_2019_p3.json",
		total: 30, next: "AoJ9lfqGpOsCPw1odHRwOi8vZHguZG9pLm9yZy8xMC4xMTAzL3BoeXNyZXZ...",
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/cursor_member10_rows100_2022_p1.json",
		items: 100, first: "10.1001/jama.1949.02910060062030", last: "10.1001/jama.1915.02570340017004", total: 625965, next: "DnF1ZXJ5VGhlbkZldGNoBgAAAAAgVW1YFmxkam1HbkpnUWxxbWlCMkxwREp...",
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/cursor_member10_rows100_2022_p2.json",
		items: 100, first: "10.1001/jama.1963.03700150097019", last: "10.1001/archinte.1988.00380050072013", total: 625965, next: "DnF1ZXJ5VGhlbkZldGNoBgAAAAAgVW1YFmxkam1HbkpnUWxxbWlCMkxwREp...",
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/cursor_plosone_rows30_2022_p2.json",
		items: 30, first: "10.1371/journal.pone.0094317", last: "10.1371/journal.pone.0249535", total: 274684, next: "DnF1ZXJ5VGhlbkZldGNoBgAAAAAQYaMaFmwwTF9ZaHF6VGlTa19kS0s2MDU...",
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/cursor_query_ecology_2022_p1.json",
		items: 30, first: "10.1093/obo/9780199830060-0238", last: "10.1002/9780470979365.ch2", total: 452242, next: "DnF1ZXJ5VGhlbkZldGNoBgAAAAAgWAw8Fmxkam1HbkpnUWxxbWlCMkxwREp...",
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/cursor_query_ecology_2022_p2.json",
		items: 30, first: "10.1002/9780470979365.ch1", last: "10.1093/obo/9780199830060-0237", total: 452242, next: "DnF1ZXJ5VGhlbkZldGNoBgAAAAAgWAw8Fmxkam1HbkpnUWxxbWlCMkxwREp...",
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/cursor_query_ecology_2022_p3.json",
		items: 30, first: "10.1093/obo/9780199830060-0082", last: "10.1002/ecy.1608", total: 452242, next: "DnF1ZXJ5VGhlbkZldGNoBgAAAAAgWAw8Fmxkam1HbkpnUWxxbWlCMkxwREp...",
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/cursor_query_widget_p1.json",
		items: 20, first: "10.1007/978-1-4302-0197-7_9", last: "10.59350/7mtwq-q3661", total: 454, next: "DnF1ZXJ5VGhlbkZldGNoJAAAAAAd55AFFjJLRW01QnVyVExLSGxBWmpxbzN...",
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/cursor_query_widget_p2.json",
		items: 20, first: "10.1145/3027385.3027428", last: "10.1201/9781003134046-5", total: 454, next: "DnF1ZXJ5VGhlbkZldGNoJAAAAAAd55AFFjJLRW01QnVyVExLSGxBWmpxbzN...",
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/cursor_query_widget_p3.json",
		items: 20, first: "10.1038/nature.2016.9804", last: "10.3997/2214-4609.201410548", total: 454, next: "DnF1ZXJ5VGhlbkZldGNoJAAAAAAd55AFFjJLRW01QnVyVExLSGxBWmpxbzN...",
	},
	{pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/empty_query_2022.json"},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/filter_prefix_type_polite_array_2026-07.json",
		items: 20, first: "10.3969/j.issn.1004-4132.2010.01.020", last: "10.50505/test_200611161351", total: 1205,
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/from_index_date_open_2023.json",
		items: 20, first: "10.3403/30430945", last: "10.3403/00374960", total: 411,
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/from_until_index_date_2023.json",
		items: 20, first: "10.3403/00374960", last: "10.3403/30402376", total: 272,
	},
	{ // the recorder kept the list only
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/items_only_query_1.json", as: asList,
		items: 5, first: "10.7554/elife.87468.2", last: "10.1101/2021.12.08.471807", total: 1,
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/items_only_query_3.json", as: asList,
		items: 5, first: "10.1016/j.freeradbiomed.2021.05.026", last: "10.1002/ctm2.649", total: 1,
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/journals_as_works_2026.json",
		items: 2, first: "10.31489/2518-1998", last: "10.3332/ecancer.2014.412", total: 82148,
	},
	{ // select left the date out
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/plus_pool_select_title_query_2025.json",
		items: 1, first: "10.1155/2022/8341966", last: "10.1155/2022/8341966", total: 4664899, bad: 1,
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/prefix_editor_query_updates_2026.json",
		items: 20, first: "10.1371/journal.pone.0147433", last: "10.1371/journal.pone.0312682", total: 151,
	},
	{pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/rows0_facet_issn_2026.json", total: 851692},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/sample10_2026-06.json",
		items: 10, first: "10.1016/0160-4120(81)90073-8", last: "10.1579/0044-7447-38.4.186", total: 10,
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/select_doi_title_2026.json",
		items: 20, first: "10.1093/obo/9780199830060-0238", last: "10.1093/obo/9780199830060-0243", total: 586628, bad: 20,
	},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/short_page_19_of_20_2025.json",
		items: 19, first: "10.1093/acrefore/9780190228620.013.545", last: "10.1093/acrefore/9780190228620.013.564", total: 336022,
	},
	{pack: "crossref", purpose: source.ForCount, file: "crossref/works-lists/until_update_date_rows0_2016.json", total: 43695},
	{
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/works_api_2019.json",
		items: 3, first: "10.1109/mitp.2002.1041177", last: "10.1007/s10107-009-0306-5", total: 2473850,
	},
	{ // a dump of a database, one work to a line
		pack: "crossref", purpose: source.ForSearch, file: "crossref/works-lists/works_dump_2018.jsonl", as: lines,
		items: 14, first: "10.1067/mjd.2002.110660", last: "10.1007/s002560100423",
		records: map[string]string{"10.1067/mjd.2002.110660": `
			title = Progressive generalized alopecia due to systemic amyloidosis
			issue = 3
			publisher = Elsevier BV
			updated = 2017-10-23T14:35:29Z`},
	},
	{pack: "crossref", purpose: source.ForSearch, file: "crossref/work/alias_doi_301.txt", status: 301, means: "L1 RETRY unexpected_redirect"},

	// OAI-PMH: records, headers, tombstones, and what a repository says of itself.
	{
		pack: "oai-pmh", purpose: source.ForSearch, file: "oai-pmh/eur-listrecords-2003.xml",
		items: 16, first: "hdl:1765/308", last: "hdl:1765/325", total: -1,
		records: map[string]string{
			"hdl:1765/308": `
				title ~ Kijken in het brein: Over de mogelijkheden van neuromarketin
				abstract# = 2
				abstract.1 ~ Modern neuroimaging techniques enable one to measure where and when brain activity
				authors = -
				published = 2003
				type = Other
				language = other
				keywords# = 13
				keywords.11 = fMRI
				url = http://hdl.handle.net/1765/308
				other_ids.handle = 1765/308
				updated = 2003-04-15T10:18:51Z
				status = ACTIVE`,
			"hdl:1765/325": `
				title = Predicting Customer Lifetime Value in Multi-Service Industries
				type = Working Paper
				keywords.6 = value
				keywords.7 = 5001-6182
				keywords.9 = HF 5415.32+`,
		},
	},
	{
		pack: "oai-pmh", purpose: source.ForSearch, file: "oai-pmh/eur-listrecords-2004-with-deleted.xml",
		items: 81, first: "hdl:1765/9", last: "hdl:1765/1163", total: -1, gone: 2,
		records: map[string]string{
			"hdl:1765/9": `
				title = The Causality of Supply Relationships
				authors = Jong, G. de | Nooteboom, B.
				published = 2001
				publisher ~ Erasmus Research Institute of Management (ERIM), Erasmus Uni
				updated = 2004-02-03T10:58:05Z
				status = ACTIVE`,
			"hdl:1765/1160": `
				title = -
				other_ids.handle = 1765/1160
				updated = 2004-02-16T13:29:54Z
				status = GONE`,
			"hdl:1765/1161": `
				updated = 2004-02-16T13:29:54Z
				status = GONE`,
			"hdl:1765/1163": `
				title = Mobile operators as banks or vice-versa? and: the challenges of Mobile channels for banks
				authors = Pau, L-F
				language = en_US`,
		},
	},
	{
		pack: "oai-pmh-ids", purpose: source.ForDetail, file: "oai-pmh/eur-getrecord-deleted.xml",
		items: 1, first: "hdl:1765/1160", last: "hdl:1765/1160", total: -1, gone: 1,
	},
	{pack: "oai-pmh-ids", purpose: source.ForDetail, file: "oai-pmh/nsdl-id-does-not-exist.xml", means: " EMPTY unknown_id"},
	{
		pack: "oai-pmh-ids", purpose: source.ForSearch, file: "oai-pmh/eur-listidentifiers.xml",
		items: 16, first: "hdl:1765/308", last: "hdl:1765/325", total: -1,
	},
	{
		pack: "oai-pmh-ids", purpose: source.ForSearch, file: "oai-pmh/nsdl-listidentifiers-p1.xml",
		items: 200, first: "oai:nsdl.org:2200/20120614151514710T", last: "oai:nsdl.org:2200/20061003062544423T", total: 733, next: "0/200/733/nsdl_dc/null/2012-07-26/null",
	},
	{
		pack: "oai-pmh-ids", purpose: source.ForSearch, file: "oai-pmh/nsdl-listidentifiers-p2.xml",
		items: 200, first: "oai:nsdl.org:2200/20061003062644660T", last: "oai:nsdl.org:2200/20110201181631770T", total: 733, next: "200/400/733/nsdl_dc/null/2012-07-26/null",
	},
	{
		pack: "oai-pmh-ids", purpose: source.ForSearch, file: "oai-pmh/nsdl-listidentifiers-p3.xml",
		items: 200, first: "oai:nsdl.org:2200/20110604050554195T", last: "oai:nsdl.org:2200/20110503233927418T", total: 733, next: "400/600/733/nsdl_dc/null/2012-07-26/null",
	},
	{ // the token is an empty element with attributes
		pack: "oai-pmh-ids", purpose: source.ForSearch, file: "oai-pmh/nsdl-listidentifiers-p4.xml",
		items: 133, first: "oai:nsdl.org:2200/20120724195058574T", last: "oai:nsdl.org:2200/20120605163206438T", total: 733,
	},
	{
		pack: "oai-pmh-repository", purpose: source.ForSearch, file: "oai-pmh/eur-listsets.xml",
		items: 10, first: "3", last: "2:3", total: -1,
		records: map[string]string{"1:1": `title = ERIM Report Series Research in Management`},
	},
	{
		pack: "oai-pmh-repository", purpose: source.ForSearch, file: "oai-pmh/eur-listmetadataformats.xml",
		items: 1, first: "oai_dc", last: "oai_dc", total: -1,
		records: map[string]string{"oai_dc": `
			title = http://www.openarchives.org/OAI/2.0/oai_dc.xsd
			url = http://www.openarchives.org/OAI/2.0/oai_dc/`},
	},
	{
		pack: "oai-pmh-repository", purpose: source.ForSearch, file: "oai-pmh/eur-identify.xml",
		items: 1, first: "Erasmus University : Research Online", last: "Erasmus University : Research Online", total: -1,
		records: map[string]string{"*": `
			url = http://dspace.ubib.eur.nl/oai/
			published = 2001-01-01
			type = second`},
	},
	{
		pack: "oai-pmh-repository", purpose: source.ForSearch, file: "oai-pmh/nsdl-identify.xml",
		items: 1, first: "National Science Digital Library", last: "National Science Digital Library", total: -1,
		records: map[string]string{"*": `
			url = http://nsdl.org/oai
			published = 1900-01-01`},
	},
	{
		pack: "doaj-oai", purpose: source.ForSearch, file: "doaj/oai-listrecords-p1.xml",
		items: 100, first: "84d148928d694848ab183fa142fc18f8", last: "2a56bedeea9c4411b31d0b92eeaeeacf", total: 2460909, next: "eyJtIjogIm9haV9kb2FqIiwgIm4iOiAxMDB9",
		records: map[string]string{
			"84d148928d694848ab183fa142fc18f8": `
				title ~ Authorship and affiliation as an indicator of quality criteria in Web 2.0
				authors = Vanessa Esperanza Oller-Arlandis | Javier Sanz-Valero
				journal = Jounal of Negative and No Positive Results
				issn = 2529-850X
				publisher = Asociación Para el Progreso de la Biomedicina
				volume = 4
				issue = 2
				pages = 129-134
				published = 2017-04-01
				doi = 10.19230/jonnpr.1311
				url = http://www.jonnpr.com/pdf/1311.pdf
				abstract ~ Aim: To describe content quality
				updated = 2017-04-06T18:22:55Z`,
			"2a56bedeea9c4411b31d0b92eeaeeacf": `
				title ~ ¿Revitalización sin gentrificación? Cooperativas de vivienda por ayuda mutua
				issn = 0210-5462 | 2340-0129
				pages = 99-118
				doi = -`,
		},
	},

	// arXiv: the query API, and a record with its versions.
	{
		pack: "arxiv-search", purpose: source.ForSearch, file: "arxiv/query-p1.xml",
		items: 10, first: "2202.12139", last: "1812.11470", total: 214881,
		records: map[string]string{
			"2202.12139": `
				title = Testing Deep Learning Models: A First Comparative Study of Multiple Testing Techniques
				abstract ~ Deep Learning (DL) has revolutionized the capabilities
				authors = Mohit Kumar Ahuja | Arnaud Gotlieb | Helge Spieker
				journal ~ Artificial Intelligence in Software Testing @ 2022 IEEE
				published = 2022-02-24
				type = preprint
				other_ids.arxiv = 2202.12139
				keywords = cs.SE | cs.LG
				doi = 10.48550/arxiv.2202.12139
				other_ids.article_doi = 10.1109/icstw55395.2022.00035
				url = https://arxiv.org/abs/2202.12139v1
				updated = 2022-02-24T15:05:19Z
				version = 1`,
			"2204.08348": `version = 3`,
		},
	},
	{
		pack: "arxiv-search", purpose: source.ForSearch, file: "arxiv/query-p2.xml",
		items: 10, first: "2403.16981", last: "2202.06271", total: 214881,
		records: map[string]string{"2403.16981": `
			title = The Sample Complexity of Simple Binary Hypothesis Testing
			keywords = math.ST | cs.IT | stat.ML
			other_ids.article_doi = -
			published = 2024-03-25
			updated = 2024-03-25T17:42:32Z
			version = 2`},
	},
	{
		pack: "arxiv-search", purpose: source.ForSearch, file: "arxiv/query-p3.xml",
		items: 10, first: "2008.01944", last: "2602.15552", total: 214881,
		records: map[string]string{"2409.05654": `version = 9`},
	},
	{
		pack: "arxiv-search", purpose: source.ForSearch, file: "arxiv/idlist-one.xml",
		items: 1, first: "1605.08386", last: "1605.08386", total: 1,
		records: map[string]string{"1605.08386": `
			title = Heat-bath random walks with Markov bases
			authors = Caprice Stanley | Tobias Windisch
			keywords = math.CO | math.ST`},
	},
	{pack: "arxiv-search", purpose: source.ForSearch, file: "arxiv/idlist-unknown-empty.xml"},
	{pack: "arxiv-search", purpose: source.ForSearch, file: "arxiv/error-bad-id-400.xml", status: 400, means: "L2 STOP request_refused"},
	{
		pack: "arxiv-raw", purpose: source.ForDetail, file: "arxiv/oai-record-arxivraw.xml",
		items: 1, first: "oai:arXiv.org:1810.09584", last: "oai:arXiv.org:1810.09584", total: -1,
		records: map[string]string{"oai:arXiv.org:1810.09584": `
			title = Martingale theory for housekeeping heat
			abstract ~ The housekeeping heat is the energy exchanged between a system and its environment in a
			journal = EPL 124,60006 (2018)
			published = 2018-10-22
			doi = 10.1209/0295-5075/124/60006
			keywords = cond-mat.stat-mech | physics.bio-ph | physics.data-an
			other_ids.arxiv = 1810.09584
			licence = http://arxiv.org/licenses/nonexclusive-distrib/1.0/
			updated = 2019-01-15T00:00:00Z`},
	},
	{pack: "arxiv-raw", purpose: source.ForSearch, file: "arxiv/oai-norecordsmatch.xml", means: " EMPTY no_records"},

	// Europe PMC in XML.
	{
		pack: "europepmc-xml", purpose: source.ForSearch, file: "europepmc/search-lite-p1.xml",
		items: 25, first: "MED:39709209", last: "MED:40476859", total: 5059039, next: "AoIIP4ZawSg1MzEyODI1MA==",
		records: map[string]string{
			"MED:39709209": `
				title = Abscopal response in a patient with fibrolamellar hepatocellular carcinoma following radiotherapy.
				authors = Schoenfeld JD, Haas-Kogan DA, O'Neill AF.
				journal = Lancet
				issn = 0140-6736 | 1474-547X
				volume = 404
				pages = 2603-2604
				published = 2025-12-01
				doi = 10.1016/s0140-6736(24)02600-x`,
			"MED:40476859": `
				issn = 2638-616X
				type = review`,
		},
	},
	{pack: "europepmc-xml", purpose: source.ForSearch, file: "europepmc/search-empty.xml"},

	// Scopus.
	{
		pack: "scopus", purpose: source.ForSearch, file: "scopus/search-p1.json",
		items: 10, first: "85086306798", last: "85079462070", total: 2843502, next: "https://api.elsevier.com/content/search/scopus?start=10&count=10&query=ecology",
		records: map[string]string{
			"85086306798": `
				title = Automatic multi-class classification of tiny and faint printing defects based on semantic segmentation
				authors = Tsuji T.
				journal = Smart Innovation, Systems and Technologies
				issn = 21903018 | 21903026
				volume = 189
				issue = -
				pages = 101-113
				published = 2021-01-01
				type = conference-paper
				doi = 10.1007/978-981-15-5784-2_9
				other_ids.eid = 2-s2.0-85086306798
				other_ids.isbn = 9789811557835
				url = https://www.scopus.com/inward/record.uri?partnerID=HzOxMe3b&scp=85086306798&origin=inward`,
			"85079462070": `
				title ~ Harnessing perennial and indeterminant growth habits
				pages = -
				type = review`,
		},
	},
	{pack: "scopus", purpose: source.ForSearch, file: "scopus/search-empty.json", means: " EMPTY no_records"},
	{
		pack: "scopus-xml", purpose: source.ForSearch, file: "scopus/search-complete.xml",
		items: 2, first: "85124241875", last: "85124226483", total: 2, next: "https://api.elsevier.com/content/search/scopus?start=2&count=2&query=%28roma%29&view=COMPLETE",
		records: map[string]string{
			"85124241875": `
				title = Hardy potential versus lower order terms in Dirichlet problems: regularizing effects†
				authors# = 3
				authors.0 = Arcoya, David
				issn = 26403501
				published = 2023-01-01
				doi = 10.3934/mine.2023004
				keywords = Hardy potentials | Laplace equation | Summability of solutions`,
			"85124226483": `
				authors# = 4
				keywords# = 5`,
		},
	},

	// SciELO: the history of changes, an article, an issue.
	{
		pack: "scielo-history", purpose: source.ForSearch, file: "scielo/article-history.json",
		items: 18, first: "S1681-150X2014000300011", last: "S1681-150X2014000300011", total: 18, gone: 6,
		records: map[string]string{"*": `updated = 2014-12-03T14:27:14Z`},
	},
	{
		pack: "scielo", purpose: source.ForSearch, file: "scielo/article.json", as: inList(`{"meta":{"total":1},"objects":[`, "]}"),
		items: 1, first: "scl/S0034-89102010000400007", last: "scl/S0034-89102010000400007", total: 1,
		records: map[string]string{"scl/S0034-89102010000400007": `
			title = Perfil epidemiológico dos pacientes em terapia renal substitutiva no Brasil, 2000-2004
			abstract ~ OBJECTIVE: To describe the clinical and epidemiological prof
			authors# = 10
			authors.0 = Cherchiglia, Mariangela Leal
			journal = Revista de Saúde Pública
			journal_abbrev = Rev. Saúde Pública
			issn = 0034-8910
			volume = 44
			issue = 4
			pages = 639-649
			published = 2010-08
			type = article
			language = pt
			doi = 10.1590/s0034-89102010000400007
			licence = by-nc
			keywords = Renal Insufficiency, Chronic | Renal Replacement Therapy | Hospital Information Systems | Mortality Registries
			references_count = 23
			updated = 2010-07-26T00:00:00Z`},
	},
	{
		pack: "scielo-issue", purpose: source.ForDetail, file: "scielo/issue.json",
		items: 1, first: "scl-1676-0603-20061", last: "scl-1676-0603-20061", total: -1,
		records: map[string]string{"*": `
			journal = Biota Neotrop.
			volume = 6
			issue = 1
			other_ids.code = 1676-060320060001`},
	},

	// Unpaywall: the answer about one DOI is the item.
	{
		pack: "unpaywall", purpose: source.ForDetail, file: "unpaywall/doi-2025.json",
		items: 1, first: "10.1016/j.xgen.2025.100814", last: "10.1016/j.xgen.2025.100814", total: -1,
		records: map[string]string{"*": `
			title = High-throughput screening of human genetic variants by pooled prime editing
			authors# = 6
			authors.0 = Michael Herger
			authors.0.affiliations = The Genome Function Laboratory, The Francis Crick Institute, London NW1 1AT, UK.
			journal = Cell Genomics
			issn = 2666-979X
			publisher = Elsevier BV
			published = 2025-03-22
			type = journal-article
			licence = cc-by
			url = https://doi.org/10.1016/j.xgen.2025.100814
			updated = 2025-08-04T14:10:34Z`},
	},
	{ // its stamp has no zone
		pack: "unpaywall", purpose: source.ForDetail, file: "unpaywall/doi-many-locations.json",
		items: 1, first: "10.1001/jamadermatol.2015.3091", last: "10.1001/jamadermatol.2015.3091", total: -1,
		records: map[string]string{"*": `
			title = Laboratory Monitoring During Isotretinoin Therapy for Acne
			authors# = 6
			authors.0 = Lee, Young H.
			authors.0.affiliations = Division of Dermatology, Sharp Rees-Stealy Medical Group, San Diego, California
			issn = 2168-6068
			published = 2016-01-01
			licence = -
			updated = 2021-01-13T23:12:16Z`},
	},
	{pack: "unpaywall", purpose: source.ForDetail, file: "unpaywall/doi-404.json", status: 404, means: " EMPTY unknown_id"},
	{
		pack: "unpaywall", purpose: source.ForSearch, file: "unpaywall/search-title.json",
		items: 1, first: "10.1103/physrevlett.80.3915", last: "10.1103/physrevlett.80.3915", total: -1,
		records: map[string]string{"*": `updated = 2022-06-02T04:45:26Z`},
	},

	// CORE, version 2.
	{
		pack: "core-v2", purpose: source.ForSearch, file: "core/v2-search-p1.json",
		items: 10, first: "102353278", last: "103825965", total: 1326248,
		records: map[string]string{
			"102353278": `
				title = Dispatch
				authors = Rquantitative Ecology Terrestrial | Fisheries Ecology
				abstract ~ ecologists have progressed far beyond this simple duplex
				published = 2015-08-22
				doi = -
				other_ids.oai = CiteSeerX.psu:10.1.1.618.5850
				updated = 2018-06-20T05:31:00Z
				status = ACTIVE`,
			"103888859": `published = 2012`,
			"154520564": `
				title = Acanthopanax sieboldianus Makino
				published = 1957-09-30`,
		},
	},
	{pack: "core-batch", purpose: source.ForSearch, file: "core/v2-batch-search-empty.json"},
	{
		pack: "core-history", purpose: source.ForSearch, file: "core/v2-article-history.json",
		items: 2, first: "2016-08-03", last: "2014-10-22", total: -1,
		records: map[string]string{
			"2016-08-03": `
				other_ids.oai = oai:CiteSeerX.psu:10.1.1.152.9831
				updated = 2016-08-03T00:13:41Z`,
		},
	},

	// PMC: the bucket of its article dataset, and the open access service.
	{
		pack: "pmc-cloud", purpose: source.ForSearch, file: "pmc/cloud-list-objects.xml",
		items: 1, first: "PMC9984800.1", last: "PMC9984800.1", total: -1,
	},
	{
		pack: "pmc-cloud", purpose: source.ForDetail, file: "pmc/cloud-article-metadata.json",
		items: 1, first: "PMC9984800.1", last: "PMC9984800.1", total: -1,
		records: map[string]string{"PMC9984800.1": `
			title = Precision oncology for BRAF-mutant cancers with BRAF and MEK inhibitors: from melanoma to tissue-agnostic therapy
			journal = ESMO Open
			published = 2023
			doi = 10.1016/j.esmoop.2023.100788
			pmid = 36842301
			pmcid = PMC9984800
			licence = CC BY-NC-ND
			other_ids.xml = s3://pmc-oa-opendata/PMC9984800.1/PMC9984800.1.xml
			version = 1
			status = ACTIVE`},
	},
	{pack: "pmc-oa", purpose: source.ForSearch, file: "pmc/oa-service-not-open-access.xml", means: "L2 STOP not_open"},
}
