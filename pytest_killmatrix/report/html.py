def html_chunks(reader):
    yield "<!doctype html><!-- pytest-killmatrix -->"
